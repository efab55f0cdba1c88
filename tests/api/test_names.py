"""One vocabulary: requests and responses use the same field names; files, comparisons and references have the
same names in all apps."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse

from gym.api.description import FILE

DESCRIPTION = json.loads(FILE.read_text(encoding="utf-8"))
SCHEMAS = DESCRIPTION["components"]["schemas"]

NOTHING_IS_KEPT = "it computes an answer and keeps nothing"
ONCE = "said about this one request; nothing of it stays"
DOWNLOAD = "a document, which comes back as a download"
READING_OPTIONS = (
    "encoding",
    "sheet",
    "header",
    "columns",
    "layout",
    "prediction",
    "cut",
    "fillers",
    "incomplete",
    "empty",
    "marks",
    "markup",
    "filename",
)
READING = "how a file is read; what it said is in the draft"
DRAFT = "of the draft, which has it at `draft/`"
NEW_MODEL = "of the card of a new model, which has it at `models/`"
WITHOUT_TWIN: dict[str, dict[str, str]] = {
    "designs_explain_create": {"*": NOTHING_IS_KEPT},
    "formulas_explain_create": {"*": NOTHING_IS_KEPT},
    "propara_evaluate_create": {"*": NOTHING_IS_KEPT},
    "suites_preview_create": {"*": NOTHING_IS_KEPT},
    "uploads_plan_create": {"*": NOTHING_IS_KEPT},
    "suites_draft_cells_partial_update": {"edits": ONCE},
    "agent_suites_cases_create": {"file": DOWNLOAD},
    "models_partial_update": {"start_token": "of the model, which has it as `facts.bos`"},
    "model_series_create": {"*": "the answer lists its models, and each is read at its own address"},
    "lmc_corpora_create": {"file": DOWNLOAD, "text": DOWNLOAD},
    "lmc_logs_create": {"file": DOWNLOAD},
    "lmc_games_create": {"words": "up to 200,000; the answer has their number, `n_words`"},
    "propara_answer_sets_create": {"answers": DOWNLOAD, "sentences": DOWNLOAD},
    "propara_answer_sets_versions_create": {"answers": DOWNLOAD, "sentences": DOWNLOAD},
    "propara_submissions_create": {"file": DOWNLOAD},
    "human_data_create": {"*": "the answer is the import; the data set is read at its own address"},
    "human_data_comparisons_create": {
        **dict.fromkeys(("spill_over", "regions", "slopes"), "the answer has them as `options`")
    },
    "suites_create": {
        **dict.fromkeys(("file", "document", "text"), DOWNLOAD),
        **dict.fromkeys((*READING_OPTIONS, "template"), READING),
        **dict.fromkeys(("join_policy", "metric", "conditions", "factors", "region_names", "regions"), DRAFT),
    },
    "suites_draft_update": {
        **dict.fromkeys(("file", "document", "text"), DOWNLOAD),
        **dict.fromkeys(READING_OPTIONS, READING),
        "join_policy": "the draft's `join`, as the edits of the grid call it",
    },
    "uploads_create": {
        **dict.fromkeys(("file", "spec"), DOWNLOAD),
        "unit": READING,
        **dict.fromkeys(("name", "visibility"), NEW_MODEL),
        **dict.fromkeys(("suite", "revision", "model"), "of the runs, which have it at `runs/`"),
    },
    "suites_lint_create": {"reason": "the finding's `ignored`, as the editor calls it"},
    "collections_publish_create": {"make_public": ONCE},
    "leaderboard_run_missing_create": dict.fromkeys(("collection", "suites", "models"), ONCE),
    "runs_many_create": dict.fromkeys(("action", "owner", "suite", "model", "tag", "state"), ONCE),
    "runs_batch_create": {"policy": "of the runs, which have it at `runs/`"},
}
FLAGS = {"again", "all_or_nothing", "agree_to_repairs", "former_address_note"}
"""Options of a request, which responses never repeat."""


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].rpartition("/")[2]]
    return schema


def fields(schema: dict[str, Any]) -> dict[str, Any]:
    schema = resolved(schema)
    found = dict(schema.get("properties", {}))
    for part in (*schema.get("allOf", ()), *schema.get("oneOf", ()), *schema.get("anyOf", ())):
        found |= fields(part)
    return found


def read_names(schema: dict[str, Any]) -> set[str]:
    """Return the field names of a response and of the rows of its lists."""
    found = fields(schema)
    rows = [resolved(one).get("items", {}) for one in found.values()]
    return {*found, *(name for row in rows for name in fields(row))}


def writing() -> Iterator[tuple[str, set[str], set[str]]]:
    """Yield (operation, fields of its body, names in its response)."""
    for methods in DESCRIPTION["paths"].values():
        for method, operation in methods.items():
            if method not in {"post", "put", "patch"} or "requestBody" not in operation:
                continue
            takes = {
                name for one in operation["requestBody"]["content"].values() for name in fields(one["schema"])
            }
            answers = {
                name
                for status, response in operation["responses"].items()
                if status.startswith("2")
                for one in response.get("content", {}).values()
                for name in read_names(one["schema"])
            }
            yield operation["operationId"], takes, answers


OPERATIONS = {name: (takes, answers) for name, takes, answers in writing()}


def test_what_is_written_is_read_under_the_same_name():
    lacking = [
        (operation, name)
        for operation, (takes, answers) in OPERATIONS.items()
        for name in takes - FLAGS - set(WITHOUT_TWIN.get(operation, {}))
        if name not in answers
        and name.removesuffix("s") not in answers  # `agents` in the request, one `agent` in each result
        and "*" not in WITHOUT_TWIN.get(operation, {})
    ]
    assert not lacking


def test_no_exception_is_without_need():
    needless = [
        (operation, name)
        for operation, names in WITHOUT_TWIN.items()
        for name in set(names) - {"*"}
        if name not in OPERATIONS[operation][0] or name in OPERATIONS[operation][1]
    ]
    assert not needless


def test_a_file_is_called_file():
    """Additional files of a form have other names."""
    forms = {
        operation["operationId"]: fields(body["schema"])
        for methods in DESCRIPTION["paths"].values()
        for operation in methods.values()
        for kind, body in operation.get("requestBody", {}).get("content", {}).items()
        if kind == "multipart/form-data"
    }
    own = {"propara_answer_sets_create", "propara_answer_sets_versions_create"}
    assert len(forms) > 8
    assert {name for name, found in forms.items() if "file" not in found} == own


def test_comparisons_of_two_things_take_first_and_second():
    pairs = {
        path: {one["name"]: one for one in methods["get"]["parameters"] if one["in"] == "query"}
        for path, methods in DESCRIPTION["paths"].items()
        if path in {f"/api/v1/{room}/" for room in ("lmc/compare", "propara/compare", "agent-compare")}
    }
    pairs |= {
        path: {one["name"]: one for one in methods["get"]["parameters"]}
        for path, methods in DESCRIPTION["paths"].items()
        if path.startswith("/api/v1/compare/")
    }
    assert len(pairs) == 6
    assert all({"first", "second"} <= found.keys() for found in pairs.values())


@pytest.mark.parametrize(
    ("name", "query", "says"),
    [
        ("api-propara-compare", {"first": ["a", "b"], "second": "c"}, "“first” was sent 2 times"),
        ("api-agent-compare", {"first": ["a", "b"], "second": "c"}, "“first” was sent 2 times"),
    ],
)
def test_other_parameters_of_a_comparison_are_told(client, db, name, query, says):
    answer = client.get(reverse(name), query)
    assert answer.status_code == 400
    assert says in answer.content.decode()


@pytest.mark.parametrize(
    ("address", "body", "field"),
    [
        ("lmc/games/", {"corpus": "no", "game": "wp", "player": "adaptive"}, "corpus"),
        ("agent-runs/", {"suite": "no", "server": "no"}, "suite"),
        ("agent-suites/", {"title": "Mine", "judge": "no"}, "judge"),
        ("runs/", {"suite": "no", "model": "no"}, "suite"),
        ("score/", {"model": "no", "sentences": ["a"]}, "model"),
        ("leaderboard/run-missing/", {"collection": "no"}, "collection"),
    ],
)
def test_an_unknown_reference_is_named_with_its_field(client, people, address, body, field):
    client.force_login(people.alice)
    answer = client.post(f"/api/v1/{address}", body, content_type="application/json")
    assert (answer.status_code, answer.json()["errors"][0]["where"]) == (400, f"$.{field}")
