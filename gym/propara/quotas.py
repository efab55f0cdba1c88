"""Quotas for answer sets and submissions."""

from __future__ import annotations

from gym.accounts.quotas import Part, register, stored
from gym.propara.models import AnswerSet, AnswerSetVersion, PublishedResult, Submission

ANSWER_SETS = register(
    "answer_sets",
    "set of reference answers",
    "sets of reference answers",
    Part(AnswerSet, size=stored("description", "reference")),
    Part(
        AnswerSetVersion,
        "answer_set__owner",
        stored("note", "answers", "sentences", "process_ids", "events", "notices"),
    ),
    Part(PublishedResult, "version__answer_set__owner", stored("system", "citation")),
    setting="GYM_QUOTA_ANSWER_SETS",
)
SUBMISSIONS = register(
    "submissions",
    "submission",
    "submissions",
    Part(
        Submission,
        size=stored("description", "file", "repairs", "samples", "report", "history"),
    ),
    setting="GYM_QUOTA_SUBMISSIONS",
)
