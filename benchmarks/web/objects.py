"""Sample objects other than suites, models and runs: collections, uploads, ProPara, games, agents. Also the addresses
that are not measured, with reasons.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.urls import reverse

Address = tuple[str, list[Any], dict[str, Any]]
"""Name of a route, its arguments, and its query parameters."""

_FORM = "a form: requested once per change, without lists that grow"
_FILE = "a download or drawing: its size depends on its contents"
_LIVE = "the live part of a page that is measured as a whole"
_FLOW = "signing in, and pages without rows"
_STAFF = "for staff only: tests/staff counts its queries"

NOT_MEASURED = {
    name: reason
    for reason, names in {
        _FORM: (
            "profile-edit hub-token password-change password-reset account-delete account-export suite-import "
            "suite-new suite-editor "
            "several-suites suite-edit suite-upload suite-copy suite-freeze suite-errata suite-past "
            "model-register model-edit model-correct propara-new propara-edit propara-version-new propara-submit "
            "propara-submission-edit propara-published propara-published-edit "
            "lmc-corpus-new lmc-corpus-edit lmc-start lmc-upload "
            "lmc-edit collection-new collection-edit collection-publish results-upload "
            "suite-results-upload agent-suite-new agent-server-new agent-server-edit agent-suite-edit "
            "agent-suite-import agent-case-new agent-case-new-form agent-case-edit agent-case-form "
            "agent-schedule-limits api-draft api-draft-cells human-data-new human-data-edit human-data-visibility"
        ),
        _FILE: (
            "account-export-file help-template suite-download propara-submission-download propara-download "
            "propara-compare-download agent-compare-download "
            "lmc-corpus-download "
            "lmc-download "
            "collection-download export-table export-evaluated export-suite figure paper leaderboard-download "
            "run-download "
            "agent-run-download agent-failures-download agent-suite-download agent-case-download api-schema api-export "
            "api-collection-file api-table api-run-evaluated api-propara-version-file api-propara-file "
            "human-data-download human-data-models-download api-human-data-observations "
            "api-human-data-comparison-table "
            "api-lmc-corpus-file api-lmc-log api-agent-suite-export api-agent-run-file agent-case-run-download"
        ),
        _LIVE: (
            "model-status lmc-progress run-progress suite-under-way agent-server-status "
            "agent-run-progress agent-naming human-data-progress"
        ),
        _FLOW: (
            "about retention help help-page healthz readyz metrics login account_login sign-up password-reset-sent "
            "account-invitation service-start service-disconnect "
            "socialaccount_connections socialaccount_signup socialaccount_login_cancelled "
            "github_callback openid_connect_callback account_reauthenticate mfa_index mfa_authenticate "
            "mfa_reauthenticate mfa_activate_totp mfa_deactivate_totp mfa_view_recovery_codes "
            "mfa_generate_recovery_codes mfa_download_recovery_codes mfa_list_webauthn mfa_add_webauthn "
            "mfa_reauthenticate_webauthn mfa_edit_webauthn mfa_remove_webauthn "
            "password-reset-confirm admin-sign-in api-root api-docs propara-compare-former "
            "propara-compare-former-process"
        ),
        _STAFF: (
            "staff staff-accounts staff-clean-up staff-invitations"
        ),
    }.items()
    for name in names.split()
}  # fmt: skip


def address_of(name: str, arguments: list[Any], query: dict[str, Any]) -> str:
    return reverse(name, args=arguments) + (f"?{urlencode(query, doseq=True)}" if query else "")


def create_objects(owner: Any, first: Any, models: list[Any]) -> dict[str, Address]:
    """Create two or three objects of each kind for the owner, and use the frozen revision `first`. Returns addresses by
    label.
    """
    addresses = (
        _suites(owner, first, models) | _human_data(owner) | _propara(owner) | _games(owner) | _agents(owner)
    )
    return {label: (label.split(" ")[0], arguments, query) for label, (arguments, query) in addresses.items()}


Addresses = dict[str, tuple[list[Any], dict[str, Any]]]


def _suites(owner: Any, first: Any, models: list[Any]) -> Addresses:
    from gym.collections.services import create_collection, publish_collection
    from gym.jobs.testing import run_pending
    from gym.runs.work.score_requests import queue_scores
    from gym.runs.work.uploads import ModelChoice, ResultFile, plan_upload, save_upload
    from lmgym.models.engine import ScoringPolicy
    from lmgym.suites.intake.archives import SourceFile
    from suites.drafts import apply_edits
    from suites.imports import ImportOptions, import_files
    from suites.services import open_draft
    from tests.factories import make_suite
    from tests.lmgym.suites.documents import suite_bytes

    for slug in ("paper", "in-the-making"):
        made = create_collection(
            actor=owner, slug=slug, title=slug, description="", reference="", revisions=[first]
        )
        if slug == "paper":
            publish_collection(made, actor=owner)
    edited = make_suite(owner, name="edited")
    brought = import_files(
        [SourceFile(f"{k}.json", suite_bytes(items=k)) for k in (4, 5)], ImportOptions(), actor=owner
    )
    rows = "".join(f"elsewhere,edited,{item},True\n" for item in range(3))
    file = ResultFile("o.csv", f"model,suite,item,correct\n{rows}".encode())
    upload = save_upload(plan_upload(file, actor=owner), ModelChoice(visibility="public"), actor=owner)
    open_draft(edited, actor=owner)
    for k in range(3):
        ops = [{"op": "insert_items", "at": 0, "items": [{"number": 100 + k, "rows": {}}]}]
        apply_edits(edited, k, [{"id": str(k), "ops": ops}], actor=owner)
    score = queue_scores(["The cat."], models[0], ScoringPolicy(), actor=owner)
    run_pending("preview")
    slugs = [model.slug for model in models[:3]]
    pages = {"model": slugs}
    api = {"model": ",".join(slugs)}
    suite = first.suite.slug
    return {
        "suite-list (searched)": ([], {"q": "suite", "tag": "circuit-0", "sort": "items"}),
        "collection-list": ([], {}),
        "collection-detail": (["paper"], {}),
        "collection-zip": (["paper"], {}),
        "collection-people": (["in-the-making"], {}),
        "model-people": ([models[0].slug], {}),
        "compare (3 models)": ([], pages),
        "compare (3 models, 1 suite)": ([], pages | {"suite": suite}),
        "suite-diff": (["edited", 1, 2], {}),
        "suite-history": (["edited"], {}),
        "upload-report": ([upload.key], {}),
        "suite-import-report": ([brought.key], {}),
        "api-collections": ([], {}),
        "api-collection": (["paper"], {}),
        "api-compare": ([], api),
        "api-compare-suite": ([suite], api),
        "api-compare-items": ([suite], api),
        "api-diff": (["edited", 1, 2], {}),
        "api-lint": ([suite], {}),
        "api-invitations": ([], {}),
        "api-people": ([suite], {}),
        "api-collection-people": (["in-the-making"], {}),
        "api-model-people": ([models[0].slug], {}),
        "api-upload": ([upload.key], {}),
        "api-score": ([score.key], {}),
        "api-backends": ([], {}),
        "api-backend": (["uniform"], {}),
    }


def _human_data(owner: Any) -> Addresses:
    from gym.jobs.testing import run_pending
    from gym.people.services import start_comparison, upload
    from tests.human_data.experiments import finished_run, import_file, make_revision, results_file

    revision = make_revision(owner, visibility="private")
    run = finished_run(revision, owner, visibility="private")
    data = import_file(revision, owner)
    comparison = start_comparison(data, [run], actor=owner)
    run_pending()
    waiting = upload(revision, results_file(), "waiting.csv", actor=owner)
    one = [data.slug]
    return {
        "human-data-list": ([], {}),
        "human-data": (one, {}),
        "human-data-item": ([data.slug, 1], {}),
        "human-data-people": (one, {}),
        "human-data-models": (one, {}),
        "human-data-models-result": ([data.slug, comparison.key], {}),
        "human-data-import": ([waiting.key], {}),
        "api-human-data-list": ([], {}),
        "api-human-data": (one, {}),
        "api-human-data-people": (one, {}),
        "api-human-data-import": ([waiting.key], {}),
        "api-human-data-comparisons": (one, {}),
        "api-human-data-comparison": ([data.slug, comparison.key], {}),
    }


def _propara(owner: Any) -> Addresses:
    from gym.propara.services import add_published
    from tests.propara.worlds import LIGHT, hand_in, make_version

    version = make_version(owner, slug="answers")
    first, second = hand_in(version, owner), hand_in(version, owner, LIGHT, system="right")
    add_published(version, actor=owner, system="ProStruct", f1=0.545, citation="Tandon et al. 2018")
    a, b = first.key, second.key
    return {
        "propara-list": ([], {}),
        "propara-set": (["answers"], {}),
        "propara-people": (["answers"], {}),
        "propara-version": (["answers", 1], {}),
        "propara-answers": (["answers", 1, 7], {}),
        "propara-submission": ([a], {}),
        "propara-process": ([a, 7], {}),
        "propara-compare": ([], {"first": a, "second": b}),
        "propara-compare-process": ([7], {"first": a, "second": b}),
        "api-propara-sets": ([], {}),
        "api-propara-set": (["answers"], {}),
        "api-propara-set-people": (["answers"], {}),
        "api-propara-version": (["answers", 1], {}),
        "api-propara-leaderboard": (["answers", 1], {}),
        "api-propara-submissions": ([], {}),
        "api-propara-submission": ([a], {}),
        "api-propara-report": ([a], {}),
        "api-propara-processes": ([a], {}),
        "api-propara-process": ([a, 7], {}),
        "api-propara-compare": ([], {"first": a, "second": b}),
    }


def _games(owner: Any) -> Addresses:
    from tests.lmchallenge.worlds import make_corpus, play

    corpus = make_corpus(owner, slug="cats")
    first, second = play(corpus, owner), play(corpus, owner, seed=43)
    correction = play(corpus, owner, "ic")
    keys = [first.key, second.key]
    return {
        "lmc-list": ([], {}),
        "lmc-corpus": (["cats"], {}),
        "lmc-corpus-people": (["cats"], {}),
        "lmc-compare": ([], {"first": keys[0], "second": keys[1:]}),
        "lmc-compare-csv": ([], {"first": keys[0], "second": keys[1:]}),
        "lmc-compare-text": ([], {"first": keys[0], "second": keys[1:]}),
        "lmc-game": ([first.key], {}),
        "lmc-text": ([first.key], {}),
        "lmc-search": ([correction.key], {}),
        "api-lmc-corpora": ([], {}),
        "api-lmc-corpus": (["cats"], {}),
        "api-lmc-corpus-people": (["cats"], {}),
        "api-lmc-games": ([], {}),
        "api-lmc-players": ([], {}),
        "api-lmc-game": ([first.key], {}),
        "api-lmc-compare": ([], {"first": keys[0], "second": keys[1:]}),
        "api-lmc-statistics": ([first.key], {}),
    }


def _agents(owner: Any) -> Addresses:
    from tests.agents.site import FLAKY, GOOD, make_run, make_server, make_suite

    server = make_server(owner, "agent")
    suite = make_suite(owner, "manners", {"hello": GOOD, "flaky": FLAKY})
    a, b = make_run(suite, server).key, make_run(suite, server)
    case, case_run = suite.cases.get(name="hello").pk, b.case_runs.first().pk
    of_run = [b.key]
    return {
        "agent-home": ([], {}),
        "agent-server": (["agent"], {}),
        "agent-suite": (["manners"], {}),
        "agent-suite-people": (["manners"], {}),
        "agent-case": (["manners", case], {}),
        "agent-runs": ([], {}),
        "agent-run": (of_run, {}),
        "agent-case-run": ([b.key, case_run], {}),
        "agent-compare": ([], {"a": a, "b": b.key}),
        "api-agent-servers": ([], {}),
        "api-agent-server": (["agent"], {}),
        "api-agent-suites": ([], {}),
        "api-agent-suite": (["manners"], {}),
        "api-agent-suite-people": (["manners"], {}),
        "api-agent-cases": (["manners"], {}),
        "api-agent-case": (["manners", case], {}),
        "api-agent-compare": ([], {"first": a, "second": b.key}),
        "api-agent-runs": ([], {}),
        "api-agent-run": (of_run, {}),
        "api-agent-results": (of_run, {}),
    }
