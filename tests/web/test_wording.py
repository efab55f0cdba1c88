"""Every concept has the same name on all pages, and it is the name that the field uses."""

import re
from pathlib import Path

import pytest

from gym.agents import forms as agent_forms
from gym.collections.forms import CollectionForm
from lmgym.text.problems import in_words
from models_registry.forms import RegisterForm
from suites import forms

ROOT = Path(__file__).parents[2]
FORMER = {
    "apart from chance": "not distinguishable from chance",
    "less first": "second − first",
    "put aside": "dismissed",
    "Mend": "Fix",
    "Make the": "Create",
    "Look at it": "Preview",
    "From nothing": "Start from scratch",
    "blank(s)": "space(s)",
    "reviewer would": "Checks",
    "made alike": "different settings",
    "in the making": "an unpublished draft",
    "Who sees it": "Visibility",
    "Judge of gist": "LLM judge",
    "for ever": "never",
    "for good": "permanently",
    "Go on editing": "Back to editor",
    "read by": "Model:",
    "handed in": "submitted",
    "Nothing to remark": "No issues",
    "Nothing is here": "Page not found",
    "not told": "not reported",
    "numbers are made": "How scores are computed",
    "has signed in": "is running",
    "leaves open": "leaves some questions open",
    "method of Holm": "Holm-corrected",
    "each mean is known": "precision of each mean",
    "mend": "fix",
    "fitting layout": "automatic",
    "holds this text": "contains this text",
    "told, too": "You are also notified",
    "answer set": "reference answers",
    "answer sets": "reference answers",
    "Answer set": "Reference answers",
    "Answer sets": "Reference answers",
}


def test_no_page_uses_a_former_word():
    found = []
    for path in sorted((ROOT / "templates").rglob("*.html")):
        text = re.sub(r"{#.*?#}", "", path.read_text(), flags=re.DOTALL)
        for old, new in FORMER.items():
            if re.search(rf"\b{re.escape(old)}\b", text):
                found.append(f"{path.relative_to(ROOT)}: {new!r}, not {old!r}")
    assert not found, "\n".join(found)


def test_no_page_formats_the_limits_of_an_interval_without_the_tag():
    ranges = re.compile(r"(?:–|\bto\s+)\{\{ [\w.]*high\b")
    found = [path.name for path in (ROOT / "templates").rglob("*.html") if ranges.search(path.read_text())]
    assert found == []


@pytest.mark.parametrize(
    "form", [forms.SuiteForm, agent_forms.ServerForm, agent_forms.SuiteForm, CollectionForm, RegisterForm]
)
def test_a_form_calls_a_slug_a_short_name_and_says_that_it_is_in_the_address(form):
    field = form.base_fields["slug"]
    assert (field.label, "address" in field.help_text) == ("Short name", True)


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("$.items[3].conditions[1].regions[2]", "item 4, condition 2, region 3"),
        ("$.items[0]", "item 1"),
        ("$.predictions[1].formula", "prediction 2"),
        ("$.items", "items"),
        ("line 17", "line 17"),
    ],
)
def test_places_of_a_file_are_counted_from_one(path: str, words: str):
    assert in_words(path) == words


@pytest.mark.parametrize(("address", "there"), [("/suites/", True), ("/agents/", False), ("/help/", False)])
def test_the_footer_speaks_of_bits_where_bits_are_shown(client, db, address, there):
    assert ("Surprisal in bits" in client.get(address).content.decode()) is there
