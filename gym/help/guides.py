"""Which pages of docs/ are offered under /help/, by group: those for users of the site, not for who runs it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Guide:
    """`name` is that of its address, and of its file in docs/ unless that is `file`."""

    name: str
    title: str
    about: str
    room: str = ""
    """Name of the address of the pages that it is about, where they are those of one room."""
    room_title: str = ""
    file: str = ""

    @property
    def file_name(self) -> str:
        return self.file or f"{self.name}.md"


GROUPS: dict[str, tuple[Guide, ...]] = {
    "Start": (
        Guide(
            "tutorial",
            "Tutorial",
            "From New suite to the results of two models in ten minutes, with the keyboard.",
        ),
        Guide("glossary", "Glossary", "What the words on these pages mean."),
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
        Guide("results", "Results", "Scoring rules, statistics, comparisons, downloads and citations."),
        Guide("names", "Names of results", "Every column of results, with its meaning and unit."),
        Guide("surprisal", "Surprisal", "Every choice between a sentence and its bits, and where it ends."),
        Guide(
            "uploading-results",
            "Uploading results",
            "Files with results of models that this site does not run.",
        ),
        Guide("models", "Models", "The kinds of models, and how one is registered, approved and checked."),
        Guide("library", "The library", "The same numbers from Python and from a shell, without a site."),
        Guide(
            "library-notebook",
            "A study in a notebook",
            "From four suites to a comparison of two models and a figure, in Python.",
            file="library.ipynb",
        ),
        Guide(
            "coming-from",
            "Coming from other programs",
            "One study in minicons, lm-eval, syntaxgym and here, and why numbers differ.",
        ),
    ),
    "Account and programs": (
        Guide("accounts", "Accounts and sharing", "Who may do what, invitations, API tokens and quotas."),
        Guide(
            "api", "REST API and client", "Conventions, the operations for programs, and the Python client."
        ),
        Guide("commands", "Commands", "The command lmgym, here and with a site: all its options."),
        Guide("grid", "The grid editor", "All keys of the sheet, and its edits for programs."),
    ),
    "Also on this site": (
        Guide(
            "propara", "ProPara", "What is made, moved and destroyed in a process.", "propara-list", "ProPara"
        ),
        Guide("lmchallenge", "LM Challenge", "How much typing a model saves.", "lmc-list", "LM Challenge"),
        Guide(
            "agents",
            "Agent tests",
            "Repeated conversations with agents, and what must be true of the answers.",
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
