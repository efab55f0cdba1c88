"""Commands for a site, with a client that answers without one."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from lmgym.cli import push, runs, upload
from lmgym.cli.shared import Failed
from lmgym.client import ApiError, Client
from tests.lmgym.suites.documents import suite_bytes


class Answers:
    """A client that gives these answers to `change_runs`, in order."""

    def __init__(self, *answers: dict) -> None:
        self.answers = list(answers)

    def change_runs(self, action: str, **filters: str) -> dict:
        return self.answers.pop(0)


def change(*answers: dict) -> int:
    options = runs.parser("lmgym runs").parse_args(["retry"])
    return options.act(Answers(*answers), options)


def test_the_request_is_repeated_while_runs_are_left(capsys):
    assert change({"done": 500, "refused": {}, "left": 7}, {"done": 7, "refused": {}, "left": 0}) == 0
    assert capsys.readouterr().out == "507 runs queued again.\n"


def test_runs_that_no_request_reaches_are_counted(capsys):
    assert change({"done": 0, "refused": {"The model is gone.": 500}, "left": 7}) == 2
    said = capsys.readouterr().err
    assert "500 runs refused: The model is gone." in said
    assert "7 more runs not tried" in said


def test_a_suite_that_the_collection_refuses_is_reported_as_uploaded(monkeypatch, tmp_path, capsys):
    class Closed:
        def collection(self, slug: str) -> dict:
            return {"published_at": None}

        def add_to_collection(self, *args: object) -> None:
            raise ApiError(403, {"detail": "You may not change this collection."})

    monkeypatch.setattr(push, "_new", lambda *args: ("owls", 1))
    (tmp_path / "owls.json").write_bytes(suite_bytes())
    words = [str(tmp_path / "owls.json"), "--freeze", "--collection", "birds"]
    options = push.parser("lmgym push").parse_args(words)
    with pytest.raises(Failed, match="owls was uploaded, but not added to the collection birds"):
        options.act(Closed(), options)
    assert capsys.readouterr().out == "owls r1\n"


@pytest.mark.parametrize("command", [push, upload])
def test_every_unusable_file_is_named_before_anything_is_sent(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owls.json").write_bytes(suite_bytes())
    (tmp_path / "folder").mkdir()
    options = command.parser("lmgym").parse_args(["owls.json", "none.json", "folder"])
    with pytest.raises(Failed) as refusal:
        options.act(Client("http://127.0.0.1:9"), options)
    assert all(name in str(refusal.value) for name in ("none.json", "folder"))


@pytest.mark.parametrize(("revision", "names"), [(1, ["small", "large"]), (2, ["small, r1", "large, r2"])])
def test_a_comparison_names_models_by_slug_as_saved_results_do(monkeypatch, revision, names):
    client = Client("http://127.0.0.1:9")
    sides = [
        {"run": "a", "model": "small", "revision": 1},
        {"run": "b", "model": "large", "revision": revision},
    ]
    runs = {side["run"]: SimpleNamespace(id=side["run"], suite="s", **side) for side in sides}
    pair = {"first": 0, "second": 1, "rate": {"first": "Small model", "second": "Large model", "p": 1.0}}
    response = {"sides": sides, "pairs": [pair], "suite": "s", "unlike": [], "note": ""}
    monkeypatch.setattr(client, "run", runs.__getitem__)
    monkeypatch.setattr(client, "get", lambda place, **query: response)
    rate = client.compare("a", "b")["rate"]
    assert ([rate["first"], rate["second"]], rate["p"]) == (names, 1.0)
