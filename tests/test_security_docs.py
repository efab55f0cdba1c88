"""docs/security.md names settings that exist, and its table of limits has the numbers of the code."""

from __future__ import annotations

import argparse
import re

from django.conf import settings

from gym.accounts import invitations as account_invitations
from gym.accounts import throttle, tokens
from gym.agents import services as agents
from gym.api import filters, paging, parsers
from gym.api.authentication import Requests
from gym.jobs import conf, services, web_server
from gym.jobs.kinds import time_limit
from gym.lmchallenge import game_views, playing, storage
from gym.lmchallenge import services as lmc
from gym.runs.work import score_requests as scoring
from gym.sharing import invitations
from gym.sharing import services as sharing
from lmgym.agents import archives, hocon, protocol
from lmgym.agents.cases import MAX_ITERATIONS
from lmgym.cli.site_options import add_web_options
from lmgym.files import bounded, parquet_rows, workbooks
from lmgym.models.backends import BACKENDS, downloads, hub, hub_listing, lmzoo, openai
from lmgym.propara import uploads
from lmgym.runs.uploaded import contents as results
from lmgym.suites import intake
from lmgym.suites.formats import documents as suite_files
from lmgym.suites.formulas import parser as formulas
from lmgym.suites.intake import archives as several_files
from lmgym.suites.intake import javascript
from models_registry import actors
from suites import bulk, history, imports
from suites.models import KEEP_IMPORTS
from tests.test_house import ROOT
from tests.test_settings_docs import CALLS

DOCS = (ROOT / "docs" / "security.md").read_text(encoding="utf-8")
UNITS = {"MB": 10**6, "GB": 10**9, "minute": 60, "hour": 3600, "day": 86_400}
NUMBER = re.compile(rf"(\d+(?:,\d{{3}})*)(?: ({'|'.join(UNITS)}))?")


def rows() -> list[list[str]]:
    """Return the rows of the table of limits, without its heading."""
    section = DOCS.split("\n## What is bounded\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def default(name: str) -> object:
    return CALLS[name][1]


def quota(name: str) -> list[object]:
    return numbers_in(str(default(name)))


def usual_threads() -> int:
    parser = argparse.ArgumentParser()
    add_web_options(parser)
    return int(parser.get_default("threads"))


def most_seconds(schema: dict) -> int:
    return int(schema["properties"]["seconds"]["maximum"])


def same(*values: object) -> object:
    """Return the common value of limits that share one row."""
    (found,) = set(values)
    return found


def limits() -> dict[str, list[object]]:
    """Return the limits in the code for each row, in bytes and seconds."""
    statements, hang = default("GYM_WEB_STATEMENT_SECONDS"), default("GYM_WEB_HANG_SECONDS")
    per_account = default("GYM_SIGN_IN_TRIES_PER_ACCOUNT")
    per_address = default("GYM_SIGN_IN_TRIES_PER_ADDRESS")
    react, deaf = conf.get("GYM_JOB_REACT_SECONDS"), conf.get("GYM_JOB_DEAF_SECONDS")
    return {
        "connections of a web process": [web_server.CONNECTIONS],
        "headers of a request": [web_server.MAX_HEADER],
        "body of a request": [web_server.MAX_BODY],
        "client that sends nothing": [web_server.IDLE_SECONDS],
        "client that reads nothing (Linux)": [web_server.STALLED_SECONDS],
        "web process with all threads busy and no request ended": [hang],
        "computing one response, in Python code": [default("GYM_WEB_REQUEST_SECONDS")],
        "one database statement of a web request": [statements],
        "large downloads generated while they are sent": [usual_threads()],
        "requests that wait for a worker": [services.MAX_WAITING_REQUESTS, services.WAIT_SECONDS],
        "search in the list of suites, filters of lists in the API": [
            filters.MOST_CHARACTERS,
            filters.MOST_WORDS,
        ],
        "page of a list in the API": [paging.MAX_LIMIT, paging.MAX_BYTES],
        "JSON or form without files": [
            settings.DATA_UPLOAD_MAX_MEMORY_SIZE,
            parsers.LIMITS.values,
        ],
        "files of one request": [settings.DATA_UPLOAD_MAX_NUMBER_FILES],
        "rows of a Parquet file or a zip of tables": [default("GYM_EXPORT_MAX_ROWS")],
        "wrong passwords of an account, or of a device known to it": [
            per_account,
            throttle.sign_in_by_account().period,
        ],
        "wrong current password, when signed in": [per_account, throttle.own_password().period],
        "wrong codes of a second factor": [per_account, throttle.own_password().period],
        "age of an invitation to the site, which works once": [default("GYM_INVITATION_DAYS") * UNITS["day"]],
        "people invited in one step": [account_invitations.MAX_ADDRESSES],
        "wrong passwords of an address; as many wrong tokens": [
            per_address,
            same(throttle.sign_in_by_address().period, throttle.bad_token_by_address().period),
        ],
        "new accounts of an address; as many password links": [
            default("GYM_SIGN_UPS_PER_ADDRESS"),
            same(throttle.sign_up_by_address().period, throttle.reset_by_address().period),
        ],
        "password links to an e-mail address": [
            throttle.reset_by_email().tries,
            throttle.reset_by_email().period,
        ],
        "age of a password link, which works once": [settings.PASSWORD_RESET_TIMEOUT],
        "live tokens of an account": [tokens.MAX_LIVE],
        "API requests by tokens of an account, or from an address without one": [
            default("GYM_API_REQUESTS_PER_MINUTE"),
            Requests().duration,
        ],
        "queued and running jobs of an account": [default("GYM_MAX_ACTIVE_JOBS_PER_USER")],
        "queued jobs of the site": [default("GYM_MAX_WAITING_JOBS")],
        "sentences that an account queues": [default("GYM_MAX_SENTENCES_PER_DAY"), throttle.DAY],
        "runs that an account keeps": [default("GYM_MAX_RUNS_PER_USER")],
        "suites that an account keeps": quota("GYM_QUOTA_SUITES"),
        "models and agents that an account keeps": quota("GYM_QUOTA_MODELS"),
        "human data sets that an account keeps": quota("GYM_QUOTA_HUMAN_DATA"),
        "collections that an account keeps": quota("GYM_QUOTA_COLLECTIONS"),
        "sets of ProPara reference answers that an account keeps": quota("GYM_QUOTA_ANSWER_SETS"),
        "ProPara submissions that an account keeps": quota("GYM_QUOTA_SUBMISSIONS"),
        "agent suites that an account keeps": quota("GYM_QUOTA_AGENT_SUITES"),
        "agent runs that an account keeps": quota("GYM_QUOTA_AGENT_RUNS"),
        "LM Challenge corpora that an account keeps": quota("GYM_QUOTA_CORPORA"),
        "LM Challenge games that an account keeps": quota("GYM_QUOTA_GAMES"),
        "cases of an agent suite": [agents.MAX_CASES],
        "collaborators of one thing, and invitations to it": [sharing.MAX_COLLABORATORS],
        "people with open invitations from an account": [invitations.MAX_OPEN],
        "file packed with gzip": [bounded.MAX_MEMBERS],
        "suite file": [suite_files.MAX_BYTES, suite_files.MAX_SENTENCES, suite_files.MAX_CELLS],
        "Parquet file of sentences": [
            suite_files.MAX_BYTES,
            parquet_rows.MAX_OUTPUT,
            parquet_rows.MAX_MEMORY,
            parquet_rows.SECONDS,
        ],
        "script with a list of items": [suite_files.MAX_BYTES, javascript.MAX_TOKENS, javascript.MAX_DEPTH],
        "workbook (.xlsx, .ods)": [
            suite_files.MAX_BYTES,
            workbooks.UNPACKED.bytes,
            workbooks.UNPACKED.entries,
            workbooks.MAX_SHEETS,
            intake.WORKBOOK_LIMITS.columns,
            workbooks.MAX_DEPTH,
            workbooks.MAX_TAGS,
            workbooks.MAX_CELL_CHARACTERS,
            workbooks.MAX_CHARACTERS,
            intake.WORKBOOK_LIMITS.seconds,
        ],
        "files of one import of suites": [
            several_files.MAX_FILES,
            several_files.MAX_TOTAL,
            several_files.LIMITS.entries,
        ],
        "reading the suites of one import": [imports.SECONDS],
        "live readings of files with open questions, of an account": [
            throttle.live_readings().tries,
            throttle.live_readings().period,
        ],
        "suites of one request that freezes, runs, publishes, collects, shares, tags or downloads them": [
            bulk.MAX_SUITES
        ],
        "history of a suite's drafts": [history.KEEP_EDITS, history.KEEP_BYTES],
        "report of an import": [KEEP_IMPORTS.total_seconds()],
        "formula": [formulas.MAX_LENGTH, formulas.MAX_DEPTH, formulas.MAX_NODES],
        "file of results": [results.MAX_BYTES, results.MAX_ROWS],
        "ProPara file": [uploads.MAX_BYTES, uploads.MAX_CELLS, uploads.MAX_STEPS],
        "corpus, unpacked": [lmc.MAX_BYTES, lmc.MAX_LINES, lmc.LINE_BYTES, lmc.SECONDS],
        "log of a game": [
            game_views.MAX_UPLOAD,
            playing.MAX_LOG,
            storage.MAX_LINES,
            storage.LINE_BYTES,
            storage.SECONDS,
        ],
        "zip of test cases": [archives.MAX_TOTAL, archives.MAX_FILES, archives.MAX_ENTRIES],
        "reading the test cases of one upload": [agents.READING_SECONDS],
        "test case (HOCON)": [
            hocon.MAX_BYTES,
            hocon.MAX_DEPTH,
            hocon.MAX_PARTS,
            hocon.MAX_WEIGHT,
            MAX_ITERATIONS,
        ],
        "sentences scored on demand": [
            scoring.MAX_TEXTS,
            scoring.MAX_TEXT_CHARACTERS,
            scoring.MAX_CHARACTERS,
        ],
        "run of agent tests, all attempts together": [default("GYM_AGENT_RUN_SECONDS")],
        "check of a model": [default("GYM_MODEL_CHECK_SECONDS")],
        "memory of that check": [100 * actors.SHARE_OF_RAM],
        "one attempt at a run of a suite": [time_limit("suite_run")],
        "one attempt at naming failures, or at sentences on demand": [
            same(time_limit("agent_naming"), time_limit("score"))
        ],
        "check of an agent, reading its version; preview": [
            time_limit("check_agent"),
            time_limit("agent_version"),
            time_limit("preview"),
        ],
        "one attempt at the zip of a collection, or of an account's data": [
            same(time_limit("collection_zip"), time_limit("account_export"))
        ],
        "one attempt at any other job": [conf.get("GYM_JOB_SECONDS")],
        "job that was cancelled or is out of time": [react, deaf],
        "worker without a heartbeat": [default("GYM_JOB_LEASE_SECONDS")],
        "attempts at a job that make no progress": [conf.get("GYM_JOB_MAX_ATTEMPTS")],
        "model fetched from the Hugging Face hub": [hub.MAX_BYTES, hub.MAX_FILES],
        "file list of a repository on the hub": [
            hub_listing.MAX_BYTES,
            downloads.ASK_SECONDS,
            hub.TIMEOUT_SECONDS,
        ],
        "answer of a completion server": [openai._MOST_BYTES, most_seconds(BACKENDS["openai"].schema)],
        "answer of an agent server": [protocol.MAX_BYTES, protocol.MAX_LINE],
        "one LM Zoo command": [lmzoo.MOST_OUTPUT, most_seconds(BACKENDS["lmzoo"].schema)],
    }


def numbers_in(cell: str) -> list[object]:
    """Return the numbers in a cell: "5 MB, 10 minutes" -> [5000000, 600]."""
    return [int(n.replace(",", "")) * UNITS.get(unit, 1) for n, unit in NUMBER.findall(cell)]


def test_every_setting_it_names_can_be_set():
    for name in set(re.findall(r"GYM_[A-Z_]+", DOCS)):
        assert name in CALLS, name


def test_every_limit_is_the_one_in_the_code():
    assert {what: numbers_in(limit) for what, limit, *_ in rows()} == limits()


def test_every_limit_says_which_setting_changes_it():
    for what, _, _, setting in rows():
        assert setting in {"fixed", "`--threads`"} or re.match(r"`GYM_[A-Z_]+`", setting), what
