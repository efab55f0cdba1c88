"""Rows of every model that the admin lists: `make(number)` creates one of each."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import CHANGE, LogEntry
from django.contrib.auth.models import Group
from django.db.models import Model
from django.utils import timezone

from gym.accounts.models import ApiToken, User
from gym.agents.models import AgentCase, AgentRun, AgentServer, AgentSuite
from gym.api.models import SentRequest
from gym.collections.models import Collection, CollectionEntry
from gym.jobs.models import Job, WorkerHeartbeat
from gym.lmchallenge.models import Corpus, Game
from gym.people.models import HumanData
from gym.propara.models import AnswerSet, AnswerSetVersion, PublishedResult, Submission
from gym.runs.models import DeletedRun, ResultUpload, RunScore, ScoreCache, ScoreRequest, SuiteRun
from gym.sharing.models import Invitation
from gym.sharing.selectors import tables
from models_registry.models import RegisteredModel
from suites.models import Suite, SuiteRevision, Tag

Rows = dict[type[Model], Any]


def make(number: int) -> Rows:
    """Create a row of every model, with its own owner if it has one."""
    rows: Rows = {}
    for part in (_site, _suites, _results, _propara, _agents, _games, _sharing):
        part(number, lambda kind, /, **values: rows.setdefault(kind, kind.objects.create(**values)), rows)
    return rows


Add = Callable[..., Any]


def _site(n: int, add: Add, rows: Rows) -> None:
    user = add(User, username=f"u{n}", email=f"u{n}@example.org")
    add(Group, name=f"g{n}")
    expires = timezone.now() + timedelta(days=1)
    add(ApiToken, user=user, name=f"k{n}", digest=str(n), expires=expires, scopes=["read"])
    add(SentRequest, user=user, key=f"key{n}", digest=str(n), status=201)
    add(Job, kind="k", owner=user, title=f"j{n}")
    add(LogEntry, user=user, object_repr=f"/page{n}/", action_flag=CHANGE)
    add(WorkerHeartbeat, id=f"w{n}", host="h", pid=n)


def _suites(n: int, add: Add, rows: Rows) -> None:
    user = rows[User]
    suite = add(Suite, slug=f"s{n}", title=f"S {n}", owner=user)
    tag = add(Tag, name=f"t{n}")
    suite.tags.add(tag)
    add(SuiteRevision, suite=suite, number=1, name=f"s{n}")
    add(RegisteredModel, slug=f"m{n}", name=f"M {n}", owner=user, backend="uniform")


def _results(n: int, add: Add, rows: Rows) -> None:
    user, model, revision = rows[User], rows[RegisteredModel], rows[SuiteRevision]
    upload = add(ResultUpload, owner=user, kind="outcomes", files=[{"name": f"f{n}"}])
    job = Job.objects.create(kind="suite_run", owner=user)
    run = add(SuiteRun, revision=revision, model=model, owner=user, policy={}, upload=upload, job=job)
    add(DeletedRun, key=f"gone{n}", suite="s", revision=1, sha256="", model="m", model_name="M")
    add(ScoreCache, scorer="x", text_sha256=str(n), scores={})
    counts = dict.fromkeys(["n", "judged", "passed", "ties", "too_close", "not_evaluable"], 1)
    add(RunScore, run=run, rule="each", **counts)
    add(ScoreRequest, owner=user, model=model, policy={}, texts=["a"], n_sentences=1)
    numbers = dict.fromkeys(["n_observations", "n_participants", "n_items", "size"], 1)
    add(HumanData, slug=f"h{n}", title=f"H {n}", owner=user, revision=revision, kind="rating", **numbers)
    collection = add(Collection, slug=f"c{n}", title=f"C {n}", owner=user)
    CollectionEntry.objects.create(collection=collection, revision=revision, position=0)


def _propara(n: int, add: Add, rows: Rows) -> None:
    user = rows[User]
    answers = add(AnswerSet, slug=f"a{n}", title=f"A {n}", owner=user)
    version = add(
        AnswerSetVersion,
        answer_set=answers,
        number=1,
        answers="",
        sha256="",
        process_ids=[1],
        n_participants=1,
        n_steps=1,
        events={},
    )
    add(Submission, version=version, owner=user, system=f"system {n}", state="scored")
    add(PublishedResult, version=version, system=f"published {n}", f1=0.5, citation="A paper")


def _agents(n: int, add: Add, rows: Rows) -> None:
    user = rows[User]
    agent = RegisteredModel.objects.create(
        slug=f"agent{n}", name=f"Agent {n}", owner=user, backend="agent", visibility="public"
    )
    server = add(AgentServer, model=agent, kind="embedded")
    suite = add(AgentSuite, slug=f"tests{n}", title=f"Tests {n}", owner=user, judge=agent)
    add(AgentCase, suite=suite, name=f"case {n}", text="x", agent="echo")
    add(AgentRun, suite=suite, server=server, owner=user, job=Job.objects.create(kind="agent_run"))


def _games(n: int, add: Add, rows: Rows) -> None:
    user, model = rows[User], rows[RegisteredModel]
    counts = dict.fromkeys(["size", "lines", "characters", "tokens", "users"], 1)
    corpus = add(
        Corpus, slug=f"x{n}", title=f"X {n}", owner=user, form="text", packed=b"", sha256="", **counts
    )
    add(Game, corpus=corpus, owner=user, title=f"G {n}", game="wp", kind="model", model=model, player="m")


def _sharing(n: int, add: Add, rows: Rows) -> None:
    bystander = User.objects.create(username=f"bystander{n}")
    suite, user = rows[Suite], rows[User]
    add(Invitation, invited=bystander, inviter=user, owner=user, role="view", thing=suite)
    for table in tables():
        add(table, thing=rows[table._meta.get_field("thing").related_model], user=bystander)
