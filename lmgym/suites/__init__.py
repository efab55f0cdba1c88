"""Suites: documents, formats, formulas, regions, lint, editing."""
