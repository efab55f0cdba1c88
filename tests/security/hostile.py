"""One hostile string, inserted into every text field that users can fill in."""

from __future__ import annotations

import json
from datetime import timedelta

from django.apps import apps
from django.db.models import CharField, TextField
from django.utils import timezone
from django.utils.html import escape

from gym.accounts.models import User
from gym.jobs.models import Job
from gym.jobs.testing import run_pending
from gym.runs.models import SentenceScore, SuiteRun
from gym.runs.work import services as runs
from lmgym.suites.formats import read_suite
from models_registry.models import RegisteredModel
from suites import services
from suites.models import Suite, SuiteRevision, Tag
from suites.options import SuiteOptions
from tests.factories import make_model
from tests.lmgym.suites.documents import suite_json
from tests.people import People
from tests.permissions.test_every_url import SECTIONS

MARK = "xss7"
"""Occurs once in the string, so that a test can detect that a page shows it."""
POLYGLOT = f"""{MARK}'"><img src=x onerror=alert(1)></title></textarea><script>alert(1)</script>{{{{7|add:7}}}}&lt;b>"""
BREAKS_OUT = ("<img src=x", "<script>alert", "</title></textarea>", "&lt;b>")
"""Pieces that occur in a page only if the string was not escaped."""
SAFE = str(escape(POLYGLOT))


def plant(people: People) -> dict[str, object]:
    """Create alice's suites, models and runs with the hostile string. Return the values of argument names in
    the permission table."""
    User.objects.filter(pk=people.alice.pk).update(first_name=POLYGLOT[:60], last_name=POLYGLOT[60:])
    open_model = _model(people.alice, "public-model", "public")
    _model(people.alice, "private-model", "private")
    broken = _model(people.alice, "broken-model", "public")
    RegisteredModel.objects.filter(pk=broken.pk).update(status="broken")
    unchecked = _model(people.alice, "unchecked-model", "public")
    job = Job.objects.create(
        kind="check_model", state="failed", title=POLYGLOT[:200], error=POLYGLOT, finished=timezone.now()
    )
    RegisteredModel.objects.filter(pk=unchecked.pk).update(status="unchecked", check_job=job)
    found: dict[str, object] = {"api-run-job": job.pk}
    for name in ("public", "unlisted", "private"):
        suite = _suite(people.alice, name)
        found[f"{name}-run"] = runs.queue_run(suite.latest_frozen, open_model, actor=people.alice).key
    secret = RegisteredModel.objects.get(slug="private-model")
    public = Suite.objects.get(slug="public")
    found["secret-run"] = runs.queue_run(public.latest_frozen, secret, actor=people.alice).key
    run_pending()
    _unscored(found["public-run"])
    now = timezone.now()
    for state, more in (
        ("failed", {"finished": now}),
        ("queued", {}),
        ("running", {"lease_until": now + timedelta(hours=1), "claimed_by": POLYGLOT[:60], "started": now}),
    ):
        waiting = runs.queue_run(public.latest_frozen, open_model, actor=people.alice)
        Job.objects.filter(pk=waiting.job.pk).update(
            state=state, error=POLYGLOT, log=POLYGLOT, unit=POLYGLOT[:20], attempt=2, total=3, **more
        )
        found[f"{state}-run"] = waiting.key
    _draft(public, people)
    return found


NEIGHBOURS = ("propara", "agents", "lmchallenge", "collections")
SPOKEN = {
    "title", "name", "description", "reference", "bibtex", "licence", "language", "system", "paper", "note", "comment",
    "error", "detail", "status_reason", "version",
}  # fmt: skip
"""Fields with texts that come from users or other programs and are shown without being parsed."""


def create_objects(people: People, world: dict[str, object]) -> None:
    """Create the objects that the permission table needs, with the hostile string in their texts."""
    for section in SECTIONS:
        if hasattr(section, "add_objects"):
            section.add_objects(people, world)
    for model in (model for label in NEIGHBOURS for model in apps.get_app_config(label).get_models()):
        for field in model._meta.concrete_fields:
            if (
                field.name in SPOKEN
                and isinstance(field, CharField | TextField)
                and not (field.unique or field.choices)
            ):
                model._default_manager.update(**{field.name: POLYGLOT[: field.max_length or 1000]})


def _model(owner: User, slug: str, visibility: str) -> RegisteredModel:
    facts = dict.fromkeys(
        ("tokenizer", "architecture", "bos", "eos", "dtype", "device", "licence"), POLYGLOT
    ) | {
        "notes": [POLYGLOT],
        "versions": {POLYGLOT: POLYGLOT},
        "probe": {"sample": {"tokens": [POLYGLOT], "bits": [1.0]}},
    }
    return make_model(
        owner,
        slug=slug,
        visibility=visibility,
        name=POLYGLOT[:200],
        config={"vocabulary_size": 64, "unit": "word"},
        status_reason=POLYGLOT,
        facts=facts,
        tags=[POLYGLOT],
        description=POLYGLOT,
        authorship=POLYGLOT,
        licence=POLYGLOT[:60],
        corpus=POLYGLOT,
        url="https://example.org/?" + POLYGLOT,
        bibtex=POLYGLOT,
        source_revision=POLYGLOT[:64],
    )


def document(name: str) -> dict[str, object]:
    """Return a suite in which every text is hostile."""
    condition = POLYGLOT.replace("%", "")
    given = suite_json(name=name, formulas=())
    given["meta"] |= dict.fromkeys(("comment", "reference", "description", "author"), POLYGLOT)
    given["region_meta"] = {"1": POLYGLOT, "2": f"{POLYGLOT} 2", "3": "Rest"}
    for item in given["items"]:
        for row in item["conditions"]:
            row["condition_name"] = f"{condition} {row['condition_name']}"
            row["regions"][0]["content"] = POLYGLOT
    given["predictions"] = [
        {
            "type": "formula",
            "formula": f"(2;%{condition} mismatch%) > (2;%{condition} match%)",
            "name": POLYGLOT,
            "description": POLYGLOT,
        },
        {"type": "formula", "formula": f"(*;%{condition} mismatch%) > (*;%{condition} match%)"},
    ]
    return given


def _suite(owner: User, name: str) -> Suite:
    suite = services.import_suite(
        read_suite(json.dumps(document(name)).encode()),
        SuiteOptions(title=POLYGLOT, visibility=name),
        actor=owner,
    )
    Suite.objects.filter(pk=suite.pk).update(bibtex=POLYGLOT, licence=POLYGLOT[:60], language=POLYGLOT[:35])
    # A tag's name is slugified on input; this one bypasses that.
    suite.tags.set([Tag.objects.get_or_create(name=POLYGLOT[:60])[0]])
    SuiteRevision.objects.filter(suite=suite).update(
        errata=POLYGLOT, notices=[{"where": POLYGLOT, "message": POLYGLOT}]
    )
    services.freeze(suite, actor=owner, note=POLYGLOT)
    return suite


def _draft(suite: Suite, people: People) -> None:
    """Create a draft with a formula that cannot be parsed, which no import accepts."""
    draft = services.open_draft(suite, actor=people.alice)
    draft.predictions.update(formula=f"({POLYGLOT}")


def _unscored(run: object) -> None:
    row = SentenceScore.objects.filter(run__key=run).last()
    assert row is not None
    SentenceScore.objects.filter(pk=row.pk).update(failure=POLYGLOT, text=POLYGLOT)
    token = [POLYGLOT, 0, 0, 1, 1.0, 0, False]
    first = SentenceScore.objects.filter(run__key=run).first()
    assert first is not None
    SentenceScore.objects.filter(pk=first.pk).update(tokens=[token, *first.tokens])
    SuiteRun.objects.filter(key=run).update(n_unscored=1, provenance={POLYGLOT: POLYGLOT, "device": POLYGLOT})
