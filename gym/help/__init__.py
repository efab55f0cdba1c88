"""Help pages: the project's docs for users, and suite templates."""
