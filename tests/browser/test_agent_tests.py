"""Agent tests with mouse and keyboard: write a case, run it, read the transcript, sort its failures."""

from __future__ import annotations

import re
import zipfile

from tests.browser.axe import violations

CASE = """\
agent: echo
success_ratio: "2/4"
interactions: [
  { text: "FLAKY greeting", response: { text: { keywords: "Hello" } } }
]
"""


def test_from_a_new_suite_to_named_failure_modes(signed_in):
    page = signed_in
    page.goto("/agents/")
    page.get_by_role("link", name=re.compile("New test suite")).first.click()
    page.get_by_label("Title").fill("Browser manners")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/agents/browser-manners/")
    page.get_by_role("link", name=re.compile("New case")).first.click()

    # Errors are shown while typing.
    page.get_by_label("Name").fill("greets")
    page.get_by_label(re.compile("Test case")).fill(CASE.replace("keywords", "keyword"))
    page.get_by_text("Did you mean keywords?").wait_for()
    page.get_by_label(re.compile("Test case")).fill(CASE)
    page.get_by_text("1 check in 1 turn").wait_for()
    page.get_by_role("link", name="Cancel").click()
    assert page.complaints == ["dialog: "]  # the question whether to discard the typed text
    page.complaints.clear()
    assert page.get_by_label(re.compile("Test case")).input_value() == CASE
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/cases/\d+/$"))

    page.get_by_role("link", name="Browser manners").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/agents/runs/*/")
    # The page follows the run without a reload.
    page.get_by_text("cases passed").wait_for(timeout=60_000)
    page.get_by_role("link", name="greets").click()
    page.get_by_text("Hello world").first.wait_for()
    page.get_by_text("Goodbye moon").first.wait_for()
    page.get_by_text("2/4").first.wait_for()

    page.get_by_text("2 of 2 failures").wait_for()
    page.get_by_text("Let a model name the failures").click()

    # The page follows the naming without a reload, and the choices can be undone.
    page.get_by_role("button", name="Name the failures").click()
    page.get_by_text("2 of 2 failures were named by Embedded agents").wait_for(timeout=60_000)
    page.get_by_role("heading", name="It speaks of ‘goodbye’.").wait_for()
    assert violations(page) == {}
    page.get_by_role("button", name="Group by text again").click()
    page.get_by_role("heading", name="Turn 1, text.keywords").wait_for()

    # After a second run the suite shows a trend, and the two runs can be compared.
    page.get_by_role("link", name="Browser manners").click()
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/agents/runs/*/")
    page.get_by_text("cases passed").wait_for(timeout=60_000)
    assert page.get_by_text("pass^k").first.is_visible()
    assert page.get_by_text("not reported").first.is_visible()
    assert violations(page) == {}
    page.get_by_role("button", name="Compare").click()
    page.get_by_text("Fisher’s exact test").wait_for()
    page.get_by_role("link", name="Browser manners").click()
    page.get_by_role("heading", name="Over time").wait_for()
    assert violations(page) == {}


ODD = {
    "greets/windows.hocon": CASE.replace("\n", "\r\n").encode(),
    "greets/mark.hocon": b"\xef\xbb\xbf" + CASE.encode(),
    "blank-first.hocon": b"\n\n" + CASE.encode() + b"\n# end",
    "other.json": b'{"agent": "echo", "interactions": [{"text": "hi"}]}',
}


def test_a_folder_comes_in_and_goes_out_byte_for_byte_even_when_it_was_edited(signed_in, tmp_path):
    page = signed_in
    for name, data in {**ODD, "README.md": b"# no case"}.items():
        (tmp_path / "folder" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "folder" / name).write_bytes(data)
    page.goto("/agents/new/")
    page.get_by_label("Title").fill("Folder")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/agents/folder/")
    page.get_by_role("link", name=re.compile("Import")).first.click()
    page.get_by_label("Or a folder").set_input_files(tmp_path / "folder")
    page.get_by_text("4 of 5 files are test cases.").wait_for()
    assert violations(page) == {}
    page.get_by_role("button", name="Import").click()
    page.get_by_text("4 cases imported.").wait_for()

    # Opening and saving a case without changes keeps every byte.
    for name in ("greets/windows", "greets/mark", "blank-first"):
        page.goto("/agents/folder/")
        page.get_by_role("link", name=name, exact=True).click()
        page.get_by_role("link", name="Edit").click()
        page.get_by_role("button", name="Save").click()
        page.wait_for_url(re.compile(r"/cases/\d+/$"))
    page.goto("/agents/folder/")
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("Download")).click()
    archive = zipfile.ZipFile(download.value.path())
    assert {name: archive.read(name) for name in archive.namelist()} == ODD


def test_a_case_as_a_form_with_the_keyboard(signed_in):
    page = signed_in
    page.goto("/agents/new/")
    page.get_by_label("Title").fill("Keyboard")
    page.get_by_role("button", name="Save").click()
    page.wait_for_url("**/agents/keyboard/")
    page.get_by_role("link", name=re.compile("New case")).first.click()
    page.get_by_label("Name").fill("greets")
    page.get_by_label(re.compile("Test case")).fill(CASE)
    page.get_by_role("button", name="Save").click()
    page.wait_for_url(re.compile(r"/cases/\d+/$"))
    page.get_by_role("link", name="Edit").press("Enter")
    page.get_by_role("link", name="Edit as a form").press("Enter")
    page.wait_for_url("**/form/")
    assert violations(page) == {}

    # Tab moves through all fields in reading order, and each has a label.
    page.get_by_label("Agent", exact=True).focus()

    def here() -> str:
        return page.evaluate("""() => {
            const at = document.activeElement;
            return at.getAttribute("aria-label") ?? (at.labels?.[0] ?? at).innerText;
        }""")

    def walk_to(last: str) -> list[str]:
        passed = [here()]
        while passed[-1] != last and len(passed) < 40:
            page.keyboard.press("Tab")
            passed.append(here())
            if passed[-1] == "Success ratio":
                page.keyboard.press("ControlOrMeta+A")
                page.keyboard.type("3/4")
        return passed

    def turn(*checks: int) -> list[str]:
        row = ["Path in the answer", "Test", "Expected", "Remove"]
        rows = [
            f"{name} check {k}" if name == "Remove" else f"{name}, check {k}" for k in checks for name in row
        ]
        return [
            "Message", *rows, "Add a check", "Other expectations", "Private data (sly_data)",
            "Time limit of the turn (seconds)", "The next turn", "Chat filter",
        ]  # fmt: skip

    top = ["Agent", "Connections", "Success ratio", "Time limit of the test (seconds)"]
    thinking, more = "Text between <think> and </think>", "Headers and calls of other agents"
    assert walk_to("Add a turn") == [*top, thinking, more, *turn(1), "Save", "Add a turn"]
    page.keyboard.press("Enter")
    page.get_by_role("group", name="Turn 2").wait_for()
    assert here() == "Message"
    page.keyboard.type("and goodbye")
    page.get_by_text("1 check in 2 turns").wait_for()
    assert walk_to("Save") == [*turn(2), "Save"]
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile(r"/cases/\d+/$"))

    # The text of the case is what was typed; everything else is unchanged.
    page.get_by_role("link", name="Edit").press("Enter")
    text = page.get_by_label(re.compile("Test case")).input_value()
    assert 'success_ratio: "3/4"' in text
    assert [line.strip() for line in text.splitlines() if "text:" in line] == [
        'text: "FLAKY greeting"',
        "text: {",
        'text: "and goodbye"',
    ]
    assert 'keywords: "Hello"' in text
