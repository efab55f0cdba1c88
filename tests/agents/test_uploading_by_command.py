"""`lmgym agents upload`: files, folders, and rejected uploads."""

from __future__ import annotations

import zipfile
from io import BytesIO

import pytest

from lmgym.cli.agents import _status, parser
from lmgym.client import ApiError
from lmgym.client.agent_tests import ENDINGS, case_files
from lmgym.client.values import AgentRun


class Site:
    """Fake client of a site with these suites. `refuses`: it rejects all uploads."""

    def __init__(self, *suites, refuses=False) -> None:
        self.suites, self.refuses = {slug: [] for slug in suites}, refuses

    def get(self, path):
        if path.removeprefix("agent-suites/").rstrip("/") not in self.suites:
            raise ApiError(404, {})

    def make_agent_suite(self, title, slug):
        self.suites[slug] = []

    def delete_agent_suite(self, slug):
        del self.suites[slug]

    def upload_cases(self, suite, files):
        if self.refuses:
            raise ApiError(400, {"detail": "line 1: This { is never closed."})
        self.suites[suite] = files
        return [name for name, _ in files]


def upload(site, *paths) -> int:
    given = parser("lmgym agents").parse_args(["upload", *map(str, paths), "--suite", "mine"])
    return given.act(site, given)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "music" / "old").mkdir(parents=True)
    for name in ("a.hocon", "old/b.json", "old/notes.txt"):
        (tmp_path / "music" / name).write_text(name)
    return tmp_path / "music"


def test_a_folder_is_an_archive_of_its_cases_named_by_their_paths(folder):
    site = Site()
    assert upload(site, folder) == 0
    ((name, data),) = site.suites["mine"]
    assert name == "music.zip"
    with zipfile.ZipFile(BytesIO(data)) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "a.hocon": b"a.hocon", "old/b.json": b"old/b.json",
        }  # fmt: skip


def test_a_folder_without_cases_and_a_file_that_is_not_there_make_no_suite(tmp_path):
    site = Site()
    with pytest.raises(ValueError, match=r"no test cases \(\.hocon, \.conf, \.json\) in "):
        upload(site, tmp_path)
    with pytest.raises(FileNotFoundError):
        upload(site, tmp_path / "absent.hocon")
    assert site.suites == {}


def test_a_refused_upload_leaves_no_empty_suite(folder, capsys):
    site = Site(refuses=True)
    with pytest.raises(ApiError, match="never closed"):
        upload(site, folder)
    assert site.suites == {}
    assert "created the suite" not in capsys.readouterr().err


def test_a_refused_upload_leaves_a_suite_that_was_there(folder):
    site = Site("mine", refuses=True)
    with pytest.raises(ApiError, match="never closed"):
        upload(site, folder)
    assert site.suites == {"mine": []}


def test_the_command_takes_the_files_that_agenttest_takes():
    from lmgym.agents.archives import SUFFIXES

    assert ENDINGS == SUFFIXES


@pytest.mark.django_db
def test_a_folder_on_the_site_and_a_run_in_which_nothing_was_checked_is_status_2(
    people, folder, client, capsys
):
    from django.core.files.uploadedfile import SimpleUploadedFile

    from tests.agents.site import GOOD, make_run, make_server, make_suite

    (folder / "a.hocon").write_text(GOOD)
    (folder / "old" / "b.json").write_text(GOOD.replace("keywords", "keyword"))
    suite = make_suite(people.alice)
    client.force_login(people.alice)
    ((name, data),) = case_files([folder])
    sent = client.post(f"/api/v1/agent-suites/{suite.slug}/cases/", {"file": SimpleUploadedFile(name, data)})
    assert [case["name"] for case in sent.json()["cases"]] == ["a", "old/b.json"]
    run = make_run(suite, make_server(people.alice))
    found = client.get(f"/api/v1/agent-runs/{run.key}/").json()
    assert {case["name"]: case["outcome"] for case in found["cases"]} == {
        "a": "pass", "hello": "pass", "old/b.json": "skipped",
    }  # fmt: skip
    assert _status(AgentRun.of(found)) == 2
    assert "no checks were run: old/b.json" in capsys.readouterr().err
    for address in (run.get_absolute_url(), run.case_runs.get(name="old/b.json").get_absolute_url()):
        assert "no checks were run" in client.get(address).content.decode()
