"""Storage of static files: names with a hash of the content, which browsers keep, once `collectstatic` ran."""

from __future__ import annotations

from whitenoise.storage import CompressedManifestStaticFilesStorage as Hashed


class HashedFiles(Hashed):  # type: ignore[misc]  # WhiteNoise is untyped
    """Before `collectstatic`, as on a laptop, files keep their own names and are revalidated after a minute."""

    # imports of our modules are rewritten; those of packages are not, since comments in django-htmx look like imports
    patterns = (*Hashed.patterns, ("js/*.js", Hashed._js_module_import_aggregation_patterns[1]))

    def stored_name(self, name: str) -> str:
        """Return the hashed name, or `name` if `collectstatic` has not seen the file."""
        if self.hash_key(self.clean_name(name)) in self.hashed_files:
            return str(super().stored_name(name))
        return name
