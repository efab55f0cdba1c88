"""The checks behind `suites.lint`; import that one."""
