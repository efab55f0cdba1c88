"""Import of files, folders and archives, and exports with the same bytes."""

from __future__ import annotations

import io
import zipfile

import pytest
from django.core.exceptions import ValidationError
from django.urls import reverse

from gym.agents import services
from lmgym.agents.archives import MAX_FILES, ArchiveError, read_archive, write_archive
from tests.agents.site import FLAKY, GOOD, make_case, make_suite
from tests.agents.test_run_pages import BAD
from tests.page_text import text_of


@pytest.fixture
def alice(client, people):
    client.force_login(people.alice)
    return client


def zipped(files: dict[str, bytes | str], **more) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", more.get("method", zipfile.ZIP_DEFLATED)) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def upload(name: str, data: bytes | str) -> io.BytesIO:
    file = io.BytesIO(data.encode() if isinstance(data, str) else data)
    file.name = name
    return file


def test_download_gives_the_very_text_back(alice, people):
    text = "# who\n" + GOOD + "\n\n// end\n"
    suite = make_suite(people.alice, cases={"a/b": text})
    answer = alice.get(reverse("agent-case-download", args=[suite.slug, make_case(suite, "a/b").pk]))
    assert answer.content.decode() == text
    answer = alice.get(reverse("agent-suite-download", args=[suite.slug]))
    assert read_archive(answer.content) == {"a/b": text}


def test_importing_files_and_folders(alice, people):
    suite = make_suite(people.alice)
    address = reverse("agent-suite-import", args=[suite.slug])
    archive = zipped(
        {"music/a.hocon": GOOD, "music/b.hocon": FLAKY, "README.md": "x", "__MACOSX/a.hocon": "x"}
    )
    answer = alice.post(address, {"file": [upload("all.zip", archive), upload("hello.hocon", BAD)]})
    assert answer.status_code == 302
    assert {case.name: case.text for case in suite.cases.all()} == {
        "music/a": GOOD,
        "music/b": FLAKY,
        "hello": BAD,
    }


def test_an_import_with_one_bad_file_changes_nothing_and_names_all_problems(alice, people):
    suite = make_suite(people.alice)
    files = [upload("good.hocon", GOOD), upload("one.hocon", "agent: "), upload("two.hocon", "a: b")]
    answer = alice.post(reverse("agent-suite-import", args=[suite.slug]), {"file": files})
    page = text_of(answer)
    assert answer.status_code == 400
    assert "one: line 1" in page
    assert "two: " in page
    assert suite.cases.count() == 1


ODD = {
    "windows.hocon": "# who\r\n" + GOOD.replace("\n", "\r\n"),
    "mixed.hocon": "# who\r\n" + GOOD + "\r\n# end",
    "mark.hocon": "\ufeff" + GOOD,
    "blank/first.hocon": "\n\n" + GOOD + "\n",
    "other/ending.json": '{"agent": "écho", "interactions": [{"text": "hi"}]}',
    "no-end.conf": GOOD.rstrip("\n"),
}


def test_what_comes_in_goes_out_byte_for_byte_under_the_same_name(alice, people):
    suite = make_suite(people.alice)
    make_case(suite).delete()
    archive = zipped(ODD)
    alice.post(reverse("agent-suite-import", args=[suite.slug]), {"file": [upload("all.zip", archive)]})
    back = zipfile.ZipFile(io.BytesIO(alice.get(reverse("agent-suite-download", args=[suite.slug])).content))
    assert {name: back.read(name) for name in back.namelist()} == {
        name: text.encode() for name, text in ODD.items()
    }
    for case in suite.cases.all():
        answer = alice.get(reverse("agent-case-download", args=[suite.slug, case.pk]))
        assert answer.content in {text.encode() for text in ODD.values()}


@pytest.mark.parametrize("name", ["windows", "mixed", "blank/first"])
def test_saving_what_a_browser_sends_back_changes_nothing(alice, people, name):
    text = ODD[f"{name}.hocon"]
    suite = make_suite(people.alice, cases={name: text})
    case = make_case(suite, name)
    address = reverse("agent-case-edit", args=[suite.slug, case.pk])
    assert "\n" + text.replace("&", "&amp;").replace('"', "&quot;") in alice.get(address).content.decode()
    sent = text.replace("\r\n", "\n").replace("\n", "\r\n")
    assert alice.post(address, {"name": name, "text": sent}).status_code == 302
    case.refresh_from_db()
    assert case.text == text
    alice.post(address, {"name": name, "text": sent.replace("hello", "bye")})
    case.refresh_from_db()
    if name == "windows":
        assert case.text == text.replace("hello", "bye")
    else:
        assert case.text == text.replace("hello", "bye").replace("\r\n", "\n")


def test_a_folder_keeps_its_paths_and_only_its_cases_are_taken(alice, people):
    suite = make_suite(people.alice)
    files = [upload("a.hocon", GOOD), upload("b.hocon", FLAKY), upload("README.md", "# read me")]
    paths = '["music/a.hocon", "deep/er/b.hocon", "README.md"]'
    address = reverse("agent-suite-import", args=[suite.slug])
    assert alice.post(address, {"folder": files, "paths": paths}).status_code == 302
    assert {case.name for case in suite.cases.all()} == {"hello", "music/a", "deep/er/b"}


def test_without_paths_a_folder_is_taken_by_names(alice, people):
    suite = make_suite(people.alice)
    address = reverse("agent-suite-import", args=[suite.slug])
    assert alice.post(address, {"folder": [upload("a.hocon", GOOD), upload("x.md", "x")]}).status_code == 302
    assert {case.name for case in suite.cases.all()} == {"hello", "a"}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"folder": ["a.hocon", "a.hocon"]}, "Several files have the case name"),
        ({"file": ["a.hocon"], "folder": ["a.hocon"]}, "Several files have the case name"),
        ({"folder": ["a.hocon"], "paths": '["../a.hocon"]'}, "not a path inside"),
        ({"folder": ["a.hocon"], "paths": '["a.hocon", "b.hocon"]'}, "number of paths differs"),
        ({"folder": ["a.hocon"], "paths": "[1]"}, "must be a list of names"),
        ({"folder": ["a.hocon"], "paths": "[" * 10_000}, "must be a list of names"),
        ({"folder": ["README.md"]}, "Choose at least one .hocon"),
        ({"paths": ""}, "Choose at least one .hocon"),
    ],
)
def test_odd_folders_are_refused_with_a_reason(alice, people, given, says):
    suite = make_suite(people.alice)
    sent = {
        key: value if isinstance(value, str) else [upload(name, GOOD) for name in value]
        for key, value in given.items()
    }
    answer = alice.post(reverse("agent-suite-import", args=[suite.slug]), sent)
    assert (answer.status_code, says in text_of(answer)) == (400, True)
    assert suite.cases.count() == 1


HOSTILE = {
    "not a path inside": zipped({"../a.hocon": GOOD}),
    "absolute": zipped({"/etc/a.hocon": GOOD}),
    "drive": zipped({"C:\\a.hocon": GOOD}),
    "bomb": zipped({"a.hocon": b"#" * 30_000_000}),
    "many bombs": zipped({f"{n}.hocon": b"#" * 900_000 for n in range(30)}),
    "many": zipped({f"{n}.hocon": GOOD for n in range(MAX_FILES + 1)}),
    "entries": zipped({f"{n}.txt": "" for n in range(6_000)}),
    "nothing": zipped({"a.txt": ""}),
    "twice": zipped({"a.hocon": GOOD, "./a.hocon": GOOD}),
    "no UTF-8": zipped({"a.hocon": b"\xff"}),
    "odd packing": zipped({"a.hocon": GOOD}, method=zipfile.ZIP_LZMA),
    "no zip": b"PK\x03\x04nonsense",
    "cut off": zipped({"a.hocon": GOOD * 50})[:-30],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives_are_refused(name):
    with pytest.raises(ArchiveError):
        read_archive(HOSTILE[name])


def test_damaged_content_and_links_are_refused():
    data = bytearray(zipped({"a.hocon": GOOD * 50}))
    data[60:80] = b"\xff" * 20
    with pytest.raises(ArchiveError, match="damaged"):
        read_archive(bytes(data))
    info = zipfile.ZipInfo("a.hocon")
    info.external_attr = 0o120777 << 16
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(ArchiveError, match="link"):
        read_archive(out.getvalue())


def test_archives_are_the_same_for_the_same_cases():
    files = {"b/c": GOOD, "a": FLAKY}
    assert write_archive(files) == write_archive(dict(reversed(files.items())))


def test_an_upload_whose_reading_takes_too_long_is_refused_whole(alice, people, monkeypatch):
    suite = make_suite(people.alice)
    monkeypatch.setattr(services, "READING_SECONDS", -1)
    with pytest.raises(ValidationError, match="Upload fewer cases at once"):
        services.import_cases(suite, {"a": GOOD, "b": GOOD}, actor=people.alice)
    assert suite.cases.count() == 1
