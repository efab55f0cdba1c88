"""Help: links in the guides work, examples are read by the real parser, and templates can be imported."""

from __future__ import annotations

import re

import pytest
from django.conf import settings

from gym.help.guides import GUIDES
from gym.help.markdown import page
from gym.help.suite_templates import TEMPLATES, content, document
from gym.help.views import read
from lmgym.suites.formulas import FormulaError, parse
from lmgym.suites.intake import parse_upload

FORMULAS = (settings.BASE_DIR / "docs" / "formulas.md").read_text(encoding="utf-8")


def test_every_link_of_a_guide_leads_to_a_guide_and_its_section():
    pages = {name: str(read(name, 0).body) for name in GUIDES}
    anchors = {name: set(re.findall(r' id="([^"]+)"', body)) for name, body in pages.items()}
    for name, body in pages.items():
        assert "<p>|" not in body, f"{name}: a table that is cut in two"
        for address in re.findall(r'<a href="([^"]+)"', body):
            found = re.fullmatch(r"(?:/help/([\w-]+)/)?(?:#(.+))?", address)
            assert found or address.startswith("https://"), (name, address)
            if found and found[2]:
                assert found[2] in anchors[found[1] or name], (name, address)


def test_html_is_shown_links_to_other_files_are_text_and_nothing_has_a_style():
    body = page(
        "# T\n\n<b onclick=x>b</b> [a](deploy.md) [j](javascript:x)\n\n| n |\n|-:|\n| 1 |", {}, str
    ).body
    assert "&lt;b onclick=x&gt;" in body
    assert "<a " not in body
    assert "style=" not in body
    assert '<td class="num">' in body


def test_a_notebook_is_a_page_with_its_text_and_code_and_guides_lead_to_it(client):
    notebook = client.get("/help/library-notebook/").content.decode()
    assert "<h1>Agreement across a distance: a study in a notebook</h1>" in notebook
    assert "result = lmgym.evaluate(suites, models)" in notebook
    assert 'href="/help/library-notebook/"' in client.get("/help/library/").content.decode()


def _examples(heading: str) -> list[list[str]]:
    section = FORMULAS.split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [
        re.split(r"(?<!\\) \| ", line.strip("| ")) for line in section.splitlines() if line.startswith("| `")
    ]
    assert rows
    return [[cell.replace("\\|", "|") for cell in row] for row in rows]


def test_the_examples_of_the_formula_reference_have_the_chance_they_say():
    for written, _, chance in _examples("Examples"):
        level = parse(written.strip("`")).chance_level()
        if chance == "simulated":
            assert not level.exact
        else:
            top, _, bottom = chance.partition("/")
            assert level.value == pytest.approx(float(top) / float(bottom or 1)), written


def test_the_complaints_of_the_formula_reference_are_what_the_parser_says():
    for written, answer in _examples("Error messages"):
        formula = re.match(r"`([^`]+)`", written)[1]
        try:
            errors = parse(formula).check({1: "a", 2: "b"}, ["match", "mismatch"])
        except FormulaError as error:
            errors = [error]
        said = f"Column {errors[0].position + 1}: {errors[0].message} {errors[0].hint}".strip()
        assert said == answer.replace("`", ""), written


@pytest.mark.parametrize("form", TEMPLATES)
def test_a_template_is_imported_as_it_is_and_asks_nothing(form):
    data = content(form)
    result = parse_upload(data if isinstance(data, bytes) else data.encode(), TEMPLATES[form].file_name)
    assert (result.problems, result.asks) == ([], ())
    wanted = document()
    if form == "jsonl":
        assert [row.item for row in result.document.sentences] == [1, 1, 2, 2, 3, 3, 4, 4]
    else:
        assert result.document.region_names == wanted.region_names
        assert [row.contents for row in result.document.sentences] == [
            row.contents for row in wanted.sentences
        ]


def test_the_guide_to_agents_and_the_page_where_its_rules_are_chosen_lead_to_each_other(client, people):
    from tests.agents.site import FLAKY, make_server, make_suite

    guide = client.get("/help/agents/").content.decode()
    assert 'Used on: <a href="/agents/">Agent tests</a>' in guide
    make_server(people.alice)
    client.force_login(people.alice)
    suite = make_suite(people.alice, cases={"flaky": FLAKY})
    [section] = re.findall(r"/help/agents/#([\w-]+)", client.get(suite.get_absolute_url()).content.decode())
    assert f'id="{section}"' in guide
