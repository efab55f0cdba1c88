"""Guides for users: the pages of docs/ that are shown under /help/, by group. Pages for administrators are left out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guide:
    """A page of docs/. `name`: its last URL segment, and its file name unless `file` is set."""

    name: str
    title: str
    about: str
    section: str = ""
    """URL name of the site's section that the guide describes; empty if it describes several."""
    section_title: str = ""
    file: str = ""

    @property
    def file_name(self) -> str:
        return self.file or f"{self.name}.md"


GROUPS: dict[str, tuple[Guide, ...]] = {
    "Start": (
        Guide(
            "tutorial",
            "Tutorial",
            "From New suite to the results of two models in ten minutes, using the keyboard.",
        ),
        Guide(
            "tutorial-teacher",
            "A class on one laptop",
            "For teachers: accounts, an assignment, everybody's results on one page.",
        ),
        Guide("glossary", "Glossary", "The terms used on these pages."),
    ),
    "Writing suites": (
        Guide(
            "formulas",
            "Prediction formulas",
            "Regions, operators, ties, margins and chance levels, with examples.",
        ),
        Guide("factorial-designs", "Factorial designs", "Factors and levels, main effects and interactions."),
        Guide(
            "suite-format",
            "Suite files",
            "JSON, CSV, TSV, workbooks and minimal pairs; what the checks find.",
        ),
    ),
    "Results": (
        Guide("results", "Read results", "Scoring rules, which run counts, and verdicts against chance."),
        Guide("compare", "Compare", "Two to five models, or two revisions of a suite, on the same items."),
        Guide(
            "people",
            "Human data",
            "Reading times and judgments: file formats, matching, exclusions, privacy.",
            section="human-data-list",
            section_title="Human data",
        ),
        Guide(
            "tutorial-people",
            "From an experiment to a figure",
            "Compare models with reading times, step by step.",
        ),
        Guide("leaderboard", "Leaderboard", "Models ranked over suites; weights, seeds, and missing runs."),
        Guide("export", "Export results", "Tables for Python and R, and files for other programs."),
        Guide("charts", "Charts", "Figures for papers, and their data."),
        Guide("citing", "Publish and cite", "Collections, and addresses that stay."),
        Guide("statistics", "Statistics", "How each number of a result is computed, with sources."),
        Guide("names", "Names of results", "Every column of results, with its meaning and unit."),
        Guide("surprisal", "Surprisal", "How the bits of a sentence are computed, and their limits."),
        Guide(
            "uploading-results",
            "Uploading results",
            "Upload results of models that this site does not run.",
        ),
        Guide("models", "Models", "Kinds of models, and how to register one."),
        Guide(
            "tutorial-checkpoints",
            "From checkpoints to a learning curve",
            "For programmers: on the command line, in continuous integration and here.",
        ),
        Guide("library", "The library", "The same numbers from Python and from a shell, without a site."),
        Guide(
            "library-notebook",
            "A study in a notebook",
            "From four suites to a comparison of two models and a figure, in Python.",
            file="library-notebook.ipynb",
        ),
        Guide(
            "coming-from",
            "Coming from other programs",
            "One study in minicons, lm-eval, syntaxgym and here, and why numbers differ.",
        ),
        Guide(
            "trust",
            "Published cases",
            "Fifteen faults of programs that compute surprisals, with each program's answer.",
        ),
    ),
    "Account and programs": (
        Guide("accounts", "Accounts and sharing", "Permissions, invitations, API tokens and quotas."),
        Guide("api", "REST API and client", "For scripts and programs."),
        Guide("commands", "Commands", "The command lmgym with all its options, local and with a site."),
        Guide("grid", "The grid editor", "Keyboard shortcuts of the editor, and its edits for programs."),
    ),
    "Also on this site": (
        Guide(
            "propara", "ProPara", "What is made, moved and destroyed in a process.", "propara-list", "ProPara"
        ),
        Guide("lmchallenge", "LM Challenge", "How much typing a model saves.", "lmc-list", "LM Challenge"),
        Guide(
            "agents",
            "Agent tests",
            "Repeated conversations with agents, with checks on the answers.",
            "agent-home",
            "Agent tests",
        ),
        Guide(
            "tutorial-lmchallenge",
            "LM Challenge tutorial",
            "From a predictor and three logs to a comparison.",
            "lmc-list",
            "LM Challenge",
        ),
        Guide(
            "tutorial-propara",
            "ProPara tutorial",
            "From predictions to a leaderboard row and an explanation.",
            "propara-list",
            "ProPara",
        ),
        Guide(
            "tutorial-agents",
            "Agent tests tutorial",
            "From a test case to a JUnit report with a regression.",
            "agent-home",
            "Agent tests",
        ),
    ),
}
GUIDES = {guide.name: guide for guides in GROUPS.values() for guide in guides}
