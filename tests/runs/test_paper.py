"""Tables for papers: the numbers of the pages, with names as shown."""

from __future__ import annotations

import csv
import io
import re
import shutil
import subprocess

import pytest
from django.urls import reverse

from gym.collections.services import create_collection
from gym.jobs.testing import run_pending
from gym.pages.paper_views import METHODS, TABLES
from gym.people.models import HumanData, PeopleComparison
from gym.people.services import set_visibility, start_comparison
from gym.runs.work import services
from models_registry.models import RegisteredModel
from suites.models import Suite
from tests.factories import make_model, make_revision
from tests.human_data import experiments
from tests.once import once_a_module
from tests.runs.boards import finished_run

PREDICTIONS = ("(2;%mismatch%) > (2;%match%)", "(3;%mismatch%) > (3;%match%)")


def make_world(people):
    """Two models on a suite with two predictions and on one with one; and a computed run."""
    both = make_revision(people.alice, name="both", formulas=PREDICTIONS, items=4)
    other = make_revision(people.alice, name="other", items=4)
    for revision, title in ((both, "Both of them"), (other, "100% other_one")):
        Suite.objects.filter(pk=revision.suite_id).update(title=title)
    models = [
        make_model(people.alice, slug=slug, name=name)
        for slug, name in (("m1", "GPT & co"), ("m2", "Second"))
    ]
    runs = [finished_run(both, models[0], [1, 1, 1, 0], [1, 0, 0, 0])]
    runs += [finished_run(both, models[1], [1, 1, 1, 1], [0, 0, 0, 0])]
    runs += [finished_run(other, model, [1, 1, 0, 0]) for model in models]
    computed = services.queue_run(make_revision(people.alice, name="scored"), models[0], actor=people.alice)
    run_pending()
    create_collection(
        actor=people.alice, slug="study", title="Study", description="", reference="", revisions=[both, other]
    )
    return {
        "runs": runs,
        "queries": {
            "run-predictions": f"run={runs[0].key}",
            "run-regions": f"run={computed.key}",
            "suite-predictions": "suite=both&r=1",
            "compare-suites": "model=m1,m2",
            "compare-predictions": "model=m1,m2&suite=both&r=1",
            "leaderboard": "",
            **_human_data(people),
            "run-methods": f"run={computed.key}",
            "compare-methods": "model=m1,m2&suite=both&r=1",
            "leaderboard-methods": "",
        },
        "computed": computed,
    }


def _human_data(people):
    """Create human data and their comparison with a model. Return the query of each kind."""
    revision = experiments.make_revision(people.alice)
    run = experiments.finished_run(revision, people.alice)
    RegisteredModel.objects.filter(pk=run.model_id).update(name="Reading GPT & co")
    data = experiments.import_file(revision, people.alice)
    HumanData.objects.update(title="Readers of GPT & co")
    set_visibility(HumanData.objects.get(), "public", actor=people.alice, confirmed=True)
    comparison = start_comparison(data, [run], actor=people.alice)
    run_pending()
    compared = f"comparison={comparison.key}"
    return {
        "people-gains": compared,
        "people-coefficients": compared,
        "people-predictions": f"data={data.slug}",
        "people-methods": compared,
    }


built, people, world = once_a_module(make_world)


def get(client, kind, form, world, more=""):
    return client.get(f"{reverse('paper', args=[kind, form])}?{world['queries'][kind]}{more}")


def rows_of(client, kind, world, more=""):
    text = get(client, kind, "csv", world, more).content.decode()
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_is_had_in_every_form_and_names_revision_model_and_date(client, world, kind):
    assert set(world["queries"]) == {*TABLES, *METHODS}
    for form, start in (("tex", "% needs "), ("md", "**"), ("csv", "")):
        response = get(client, kind, form, world)
        text = response.content.decode()
        assert text.startswith(start)
        assert "attachment" in response["Content-Disposition"]
        assert re.search(r"Dates?: 20\d\d-\d\d-\d\d", text), (kind, form)
        assert "r1" in text
        assert "ci_low" not in text
        assert "GPT \\& co" in text if form == "tex" else "GPT & co" in text


def test_a_runs_predictions_have_the_numbers_of_its_page(client, world):
    run = world["runs"][0]
    page = " ".join(client.get(reverse("run-detail", args=[run.key])).content.decode().split())
    rows = rows_of(client, "run-predictions", world)
    assert rows[0] == ["Prediction", "n", "GPT & co", "GPT & co, 95% low", "GPT & co, 95% high", "Chance"]
    for _, n, rate, low, high, chance in rows[1:3]:
        assert f'<p class="big">{rate}%</p>' in page
        assert f"of {n} items held" in page
        assert f"95% interval {low}% to {high}%" in page
        assert f"({chance}%)" in page or f"chance {chance}%" in page
    assert [row[0] for row in rows[3:6]] == [
        "Together, by each prediction", "Together, by all predictions", "Together, by first prediction",
    ]  # fmt: skip
    for _, _, rate, low, high, _ in rows[3:6]:
        assert f"<b>{rate}%</b>" in page
        assert f"{low}% to {high}%" in page


def test_a_runs_regions_have_the_numbers_of_its_page(client, world):
    address = reverse("run-detail", args=[world["computed"].key])
    for interval in ("", "&interval=within"):
        page = client.get(f"{address}?{interval}").content.decode()
        shown = " ".join(page[page.index('id="means"') :].split())
        rows = rows_of(client, "run-regions", world, interval)
        assert [row[0] for row in rows[1:-1]] == ["match", "mismatch"]
        assert rows[0][:3] == ["Condition", "n", "1 Subject"]
        for heading, *cells in zip(*rows[:-1], strict=True):
            if heading.endswith("95% low"):
                assert all(f'"sub ci">{low} to' in shown for low in cells if low)
            elif heading[0].isdigit() and not heading.endswith("95% high"):
                assert all(f"> {mean}<" in shown for mean in cells)


def test_a_comparison_has_the_numbers_of_its_page(client, world):
    page = " ".join(client.get(reverse("compare"), {"model": "m1,m2"}).content.decode().split())
    head, *rows = rows_of(client, "compare-suites", world)
    assert "Second − GPT & co" in head
    for row in rows[:-1]:
        cells = dict(zip(head, row, strict=True))
        assert f"{cells['GPT & co']}%</a>" in page
        if not cells["Second"]:
            continue  # not run
        assert f"{cells['Second, 95% low']}% to {cells['Second, 95% high']}%, n {cells['n']}" in page
        points = float(cells["Second − GPT & co"])
        assert f"{points:+.1f}".replace("-", "−").replace("+0.0", "0.0") in page
    assert "McNemar" in rows[-1][0] or "sign test" in rows[-1][0]


def test_predictions_by_models_end_with_the_rate_under_the_rule_of_the_page(client, world):
    query = {"model": "m1,m2", "suite": "both", "rule": "all"}
    page = " ".join(client.get(reverse("compare"), query).content.decode().split())
    *_, together, note = rows_of(client, "compare-predictions", world, "&rule=all")
    assert together[0] == "Together, by all predictions"
    assert f"<b>{together[2]}%</b>" in page
    assert "Scoring rule: all predictions" in note[0]


def test_a_collections_table_has_its_suites_only(client, world, people):
    client.force_login(people.alice)
    text = client.get(f"{reverse('paper', args=['leaderboard', 'md'])}?collection=study").content.decode()
    assert "Both of them r1" in text
    assert "100% other\\_one r1" in text
    assert "scored" not in text.lower().split("scoring rule")[0]


def test_pages_offer_the_tables_of_their_numbers_and_their_methods(client, world, people):
    client.force_login(people.alice)
    compared = PeopleComparison.objects.get().get_absolute_url()
    pages = {
        reverse("run-detail", args=[world["computed"].key]): (
            "run-predictions",
            "run-regions",
            "run-methods",
        ),
        f"{reverse('compare')}?model=m1,m2": ("compare-suites", "compare-methods"),
        f"{reverse('compare')}?model=m1,m2&suite=both": ("compare-predictions", "compare-methods"),
        reverse("collection-detail", args=["study"]): ("leaderboard", "leaderboard-methods"),
        reverse("leaderboard"): ("leaderboard",),
        reverse("suite-detail", args=["both"]): ("suite-predictions",),
        compared: ("people-gains", "people-coefficients", "people-methods"),
        HumanData.objects.get().get_absolute_url(): ("people-predictions",),
    }
    for page, kinds in pages.items():
        text = client.get(page).content.decode()
        for kind in kinds:
            found = re.findall(rf'href="/paper/{kind}\.(\w+)\?([^"]*)" data-copy-file', text)
            queries = dict(found)
            forms = {"tex", "md", "bib"} if kind in METHODS else {"tex", "md", "csv"}
            assert queries.keys() == forms, (page, kind)
            assert len(set(queries.values())) == 1, (page, kind)
            query = queries["md"].replace("&amp;", "&")
            assert client.get(f"/paper/{kind}.md?{query}").status_code == 200, (page, kind)


def test_a_stranger_gets_no_table_of_a_private_suite(client, people):
    revision = make_revision(people.alice, name="hidden", visibility="private")
    run = finished_run(revision, make_model(people.alice, slug="m9"), [1, 1, 1])
    client.force_login(people.charlie)
    for query in (f"run-predictions.tex?run={run.key}", "suite-predictions.tex?suite=hidden&r=1",
                  "compare-predictions.tex?suite=hidden&model=m1,m2", "leaderboard.tex?collection=study"):  # fmt: skip
        assert client.get(f"/paper/{query}").status_code == 404, query


@pytest.mark.parametrize("kind", METHODS)
def test_every_paragraph_cites_what_its_bibliography_has(client, world, kind):
    tex, md, bib = (get(client, kind, form, world).content.decode() for form in ("tex", "md", "bib"))
    cited = {key for keys in re.findall(r"\\cite\{([^}]*)\}", tex) for key in keys.split(",")}
    assert cited == set(re.findall(r"@\w+\{([^,]+),", bib))
    assert "lm-gym" in cited
    assert tex.startswith("We evaluated GPT \\& co~\\cite{m1}") or "GPT \\& co" in tex
    assert "[@" in md
    assert get(client, kind, "csv", world).status_code == 404


def test_a_runs_methods_have_digest_start_token_joining_and_the_papers_own_entry(client, world):
    run = world["computed"]
    Suite.objects.filter(pk=run.revision.suite_id).update(bibtex="@article{hu-2020, title = {A}}")
    md = get(client, "run-methods", "md", world).content.decode()
    for words in (
        f"(revision 1, sha256 {run.revision.sha256[:12]}, 3 items in 2 conditions) [@scored-r1; @hu-2020]",
        "without a start token", "joined by spaces", "the sum over its tokens", "“each prediction”",
    ):  # fmt: skip
        assert words in md
    bib = get(client, "run-methods", "bib", world).content.decode()
    assert run.revision.sha256 in bib
    assert "@article{hu-2020, title = {A}}" in bib
    assert "http://testserver/suites/scored/r1/" in bib


def test_a_collections_methods_cite_the_collection(client, world, people):
    client.force_login(people.alice)
    address = f"{reverse('paper', args=['leaderboard-methods', 'md'])}?collection=study"
    text = client.get(address).content.decode()
    assert "on the 2 test suites of the collection Study [@study] with LM Gym" in text
    assert "Holm-corrected over the suites of a model" in text


def test_a_comparisons_methods_name_its_tests(client, world):
    text = get(client, "compare-methods", "md", world).content.decode()
    assert "Newcombe" in text
    assert "sign test" in text
    assert "Second" in text


@pytest.mark.foreign
@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed (texlive-science)")
def test_a_paper_from_the_pages_compiles(client, world, tmp_path):
    for kind in (*TABLES, *METHODS):
        (tmp_path / f"{kind}.tex").write_bytes(get(client, kind, "tex", world).content)
    (tmp_path / "references.bib").write_bytes(get(client, "compare-methods", "bib", world).content)
    chart = client.get(f"/figures/run-regions.pdf?run={world['computed'].key}&size=single")
    (tmp_path / "chart.pdf").write_bytes(chart.content)
    inputs = "".join(rf"\input{{{kind}}}" for kind in (*TABLES, *METHODS))
    (tmp_path / "paper.tex").write_text(
        r"\documentclass{article}\usepackage[T1]{fontenc}\usepackage{booktabs,siunitx,longtable,graphicx,hyperref}"
        rf"\begin{{document}}\includegraphics{{chart}}{inputs}"
        r"\bibliographystyle{plain}\bibliography{references}\end{document}"
    )
    pdflatex = ["pdflatex", "-halt-on-error", "-interaction=nonstopmode", "paper.tex"]
    for command in (pdflatex, ["bibtex", "paper"], pdflatex):
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
        )
        assert done.returncode == 0, done.stdout[-3000:]
    assert "not set up" not in done.stdout
