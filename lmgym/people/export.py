"""The observations with all predictors as a tidy table, and the R call that fits the same models with lme4."""

from __future__ import annotations
