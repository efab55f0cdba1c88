"""Load the demo into the database: accounts, models, suites, reference answers, a corpus, agent tests, and a job that
runs the models. Safe to repeat."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import transaction
from django.db.models import QuerySet

from gym.accounts.backends import ACCOUNTS, DEMO_USER, demo_accounts_allowed
from gym.accounts.models import User
from gym.agents.demo import load_agents
from gym.demo.catalogue import DATA_DIR, DEMO_MODELS, DEMO_SUITES, LICENCE, MODELS_DIR
from gym.jobs.models import ACTIVE_STATES, Job
from gym.jobs.services import enqueue
from gym.lmchallenge import playing
from gym.lmchallenge import services as lmchallenge
from gym.lmchallenge.models import Corpus
from gym.propara import services as propara
from gym.propara.models import AnswerSet
from gym.sharing.models import Visibility
from lmgym.lmchallenge.play.games import GameOptions
from lmgym.models.packaged import PACKAGED
from lmgym.suites.formats import read_suite
from models_registry.models import RegisteredModel
from suites import services
from suites.models import Suite, SuiteRevision
from suites.options import SuiteOptions

ANSWER_SET = "everyday-processes"
PROPARA_DATA = Path(__file__).parents[1] / "propara" / "data"
SUBMISSIONS = {
    "careful": "Mostly right; some steps late, some places unknown. Made up as an example.",
    "hasty": "Often late, places often unknown, many moves missed. Made up as an example.",
}
CORPUS = "demo-sentences"
PLAYER = "demo-ngram"
GAMES = {"wp": "5-gram, next word", "ic": "5-gram, input correction"}


def load_demo(*, queue_runs: bool = True) -> Iterator[str]:
    """Create the missing parts of the demo; yields a line for each step."""
    with transaction.atomic():
        if demo_accounts_allowed():
            yield from _create_accounts()
        owner = demo_user()
        yield from _create_models(owner)
        yield from _create_suites(owner)
        yield from _create_answer_set(owner)
        yield from _create_corpus(owner)
        yield from load_agents(owner, run=queue_runs)
        if queue_runs and not Job.objects.filter(kind="demo_runs", state__in=ACTIVE_STATES).exists():
            enqueue("demo_runs", {}, owner=owner, title="Run the demo models", total=len(DEMO_MODELS))
            yield "the demo runs are queued"


def demo_user() -> User:
    """Return the account that owns the demo; it has no usable password."""
    user, created = User.objects.get_or_create(
        username=DEMO_USER, defaults={"first_name": "LM Gym", "last_name": "demo"}
    )
    if created:
        user.set_unusable_password()
        user.save()
    return user


def demo_models() -> QuerySet[RegisteredModel]:
    slugs = [*(model.slug for model in DEMO_MODELS), *PACKAGED]
    return RegisteredModel.objects.filter(slug__in=slugs, owner=demo_user())


def demo_revisions() -> list[SuiteRevision]:
    suites = Suite.objects.filter(owner=demo_user()).order_by("slug")
    return [revision for suite in suites if (revision := suite.latest_frozen)]


def _create_accounts() -> Iterator[str]:
    users = get_user_model().objects
    for name, (password, staff) in ACCOUNTS.items():
        if not users.filter(username=name).exists():
            users.create_user(name, password=password, is_staff=staff, is_superuser=staff)
            yield f"account {name} (password {password})"


def _create_models(owner: User) -> Iterator[str]:
    for model in DEMO_MODELS:
        source = MODELS_DIR / model.slug
        target = settings.GYM_MODEL_DIR / model.slug
        if source.is_dir() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copytree(source, target)
        if not RegisteredModel.objects.filter(slug=model.slug).exists():
            RegisteredModel.objects.create(
                slug=model.slug,
                name=model.name,
                owner=owner,
                visibility=Visibility.PUBLIC,
                backend=model.backend,
                config=model.config,
                description=model.description,
                licence=model.licence,
                corpus=model.corpus,
                authorship="LM Gym",
                tags=["demo", *model.tags],
            )
            yield f"model {model.slug}"


def _create_suites(owner: User) -> Iterator[str]:
    for path in DEMO_SUITES:
        document = read_suite(path.read_bytes(), filename=path.name)
        if Suite.objects.filter(slug=services.slug_of(document.name), owner=owner).exists():
            continue
        created = services.import_suite(
            document,
            SuiteOptions(title=str(document.meta["title"]), visibility=Visibility.PUBLIC, language="en"),
            actor=owner,
        )
        created.licence = LICENCE
        created.save(update_fields=["licence"])
        services.freeze(created, actor=owner, note="as shipped with LM Gym")
        yield f"suite {created.slug}"


def _create_answer_set(owner: User) -> Iterator[str]:
    """Create a small set of ProPara reference answers with two made-up submissions."""
    if AnswerSet.objects.filter(slug=ANSWER_SET).exists():
        return
    made = propara.create_answer_set(
        (PROPARA_DATA / "answers.tsv").read_bytes(),
        (PROPARA_DATA / "sentences.tsv").read_bytes(),
        actor=owner,
        slug=ANSWER_SET,
        title="Everyday processes",
        visibility=Visibility.PUBLIC,
        licence="CC0-1.0",
        description="Fourteen short paragraphs about everyday processes, from making tea to printing a leaflet, "
        "written for LM Gym. Meant for trying out the site and for tests, not for rating systems.",
    )
    version = made.latest
    assert version is not None
    for name, description in SUBMISSIONS.items():
        about = propara.About(name.capitalize(), description, visibility=Visibility.PUBLIC)
        data = (PROPARA_DATA / f"{name}.tsv").read_bytes()
        propara.submit(version, data, f"{name}.tsv", about, actor=owner)
    yield f"reference answers {ANSWER_SET} with {len(SUBMISSIONS)} submissions"


def _create_corpus(owner: User) -> Iterator[str]:
    """Create a small corpus for typing games."""
    if Corpus.objects.filter(slug=CORPUS).exists():
        return
    lmchallenge.create_corpus(
        (DATA_DIR / "sentences.txt").read_bytes(),
        actor=owner,
        slug=CORPUS,
        title="Sentences of the demo grammar",
        form="text",
        visibility=Visibility.PUBLIC,
        language="en",
        licence=LICENCE,
        description="Sixty sentences generated by the demo grammar from another seed. Meant for trying out games, not "
        "for rating models.",
    )
    yield f"corpus {CORPUS}"


def queue_games(owner: User) -> None:
    """Start the missing games of the demo 5-gram on the demo corpus. Does nothing until the model is
    ready."""
    corpus = Corpus.objects.filter(slug=CORPUS, owner=owner).first()
    model = RegisteredModel.objects.filter(slug=PLAYER, owner=owner).first()
    if corpus is None or model is None or not model.is_ready:
        return
    for game, title in GAMES.items():
        if not corpus.games.filter(owner=owner, title=title).exists():
            options = GameOptions(game, predictions=True)
            wish = playing.GameRequest(f"model:{PLAYER}", options, title=title, visibility=Visibility.PUBLIC)
            playing.start_game(corpus, wish, actor=owner)
