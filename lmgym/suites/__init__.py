"""Test suites as documents: file formats, import, formulas, regions, lint and editing."""
