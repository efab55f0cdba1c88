"""Collect every statement about a rate against chance on pages, in files and in the API, and compute what the
outcomes imply, with scipy, numpy and only the labels of `lmgym.runs.against_chance`.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import pyarrow.parquet as pq
from django.test import Client
from django.urls import reverse
from scipy.stats import beta, norm

from gym.runs.models import SuiteRun
from gym.runs.read.report import result_of, run_head
from lmgym.cli.rates import table as rate_table
from lmgym.client.client import Client as SiteClient
from lmgym.client.values import Run
from lmgym.runs import report
from lmgym.runs.against_chance import CHANCE_WORDS
from lmgym.suites.formulas import parse
from suites.selectors import document_of

RULES = ("each", "all", "first")
Of = tuple[str, str | int]
"""Subject of a statement: (run, rule) or (run, position of a prediction)."""
NUMBERS = (
    "rate", "low", "high", "chance", "p", "p_below", "p_corrected",
    "p_below_corrected",
)  # fmt: skip
STANDING_OF = {words: standing for standing, words in CHANCE_WORDS.items()}
WORDS = "|".join(re.escape(words) for words in STANDING_OF)
P = r"< 0\.001|[01]\.\d{3}"


@dataclass(frozen=True)
class Stated:
    """A statement in one place. `family`: "" = single, "run" = with the run's predictions, else the name of a
    set of suites. `numbers`: named as in files; `shown`: texts of a page; None = nothing may be shown."""

    place: str
    of: Of
    family: str
    standing: str
    numbers: Mapping[str, float | None] = field(default_factory=dict)
    shown: Mapping[str, str | None] = field(default_factory=dict)


# --- what outcomes say ---
@dataclass(frozen=True)
class Expected:
    rate: float
    low: float
    high: float
    chance: float
    tails: tuple[float, float, float, float]
    """Exact p above, below, and below with all ties as passes."""
    coverage: float | None


def expected_of(run: SuiteRun) -> dict[Of, Expected]:
    """Return the expected values for the predictions of a run, and for the rules under which it has a
    rate."""
    results = list(run.prediction_results.select_related("prediction"))
    n_regions = len(run.revision.region_names)
    chances = [parse(row.prediction.formula).chance_level(n_regions=n_regions).value for row in results]
    codes = np.array([row.outcomes for row in results])
    coverage = None if run.n_words is None else 1 - run.n_unknown_words / run.n_words
    found: dict[Of, Expected] = {}
    for k, row in enumerate(results):
        found[run.key, row.position] = _expected(codes[[k]], chances[k], coverage)
    if results and results[0].position == 0:
        found[run.key, "first"] = found[run.key, 0]
    if len(results) == run.revision.predictions.count():
        joint = parse("&".join(f"[{row.prediction.formula}]" for row in results))
        together = chances[0] if len(results) == 1 else joint.chance_level(n_regions=n_regions).value
        missing = (codes == 3).any(axis=0)
        ties = (codes == 2).any(axis=0) & ~missing
        of_all = np.where((codes == 1).all(axis=0), 1, np.where(ties, 2, 0))[None, :]
        found[run.key, "all"] = _expected(of_all, together, coverage)
        found[run.key, "each"] = _expected(codes, sum(chances) / len(chances), coverage)
    return found


def _expected(codes: Any, chance: float, coverage: float | None) -> Expected:
    """Compute the expected values from `codes`: [prediction, item]."""
    shares = (codes == 1).mean(axis=0)
    n, rate, variance = shares.size, float(shares.mean()), float(shares.var())
    size = n if variance < 1e-12 else min(max(n, rate * (1 - rate) * n / variance), n * len(codes))
    z = norm.ppf(0.975)
    middle, s = (rate + z**2 / size / 2) / (1 + z**2 / size), z**2 / size
    half = z * (rate * (1 - rate) / size + s / size / 4) ** 0.5 / (1 + s)
    failed, ties, missing = 1 - rate, float((codes == 2).mean()), float((codes == 3).mean())

    def tail(share: float, chance: float) -> float:
        if share * size <= 1e-12 or chance >= 1:
            return 1.0
        return 0.0 if chance <= 0 else float(beta.cdf(chance, share * size, size * (1 - share) + 1))

    under = rate < chance
    tails = (
        tail(rate, chance),
        tail(failed, 1 - chance) if under else 1.0,
        tail(failed - ties, 1 - chance) if under else 1.0,
        tail(failed - ties - missing, 1 - chance) if under else 1.0,
    )
    return Expected(rate, max(0.0, middle - half), min(1.0, middle + half), chance, tails, coverage)


def disagreements(
    stated: Sequence[Stated], expected: Mapping[Of, Expected], families: Mapping[tuple[str, Of], Sequence[Of]]
) -> list[str]:
    """Return the statements that differ from the expected values. `families`: (name of the family, one of its
    rates) -> all of its rates."""
    found = []

    def corrected(family: str, of: Of) -> tuple[float, ...]:
        members = families[family, of]
        tails = np.array([expected[one].tails for one in members])
        return tuple(float(p) for p in _holm(tails)[members.index(of)])

    for one in stated:
        own = expected.get(one.of)
        if own is None:
            found.append(f"{one.place} {one.of}: there should be no verdict")
            continue
        holm = corrected(one.family, one.of) if one.family else None
        found += [f"{one.place} {one.of}: {said}" for said in _differences(one, own, holm)]
    return found


def _differences(one: Stated, own: Expected, holm: tuple[float, ...] | None) -> Iterator[str]:
    above, below, with_ties, with_missing = holm or own.tails
    if above < 0.05:
        standing = "above" if own.coverage is None or own.coverage >= 0.9 else "unknown-words"
    elif below < 0.05:
        standing = "tied" if with_ties >= 0.05 else "missing" if with_missing >= 0.05 else "below"
    else:
        standing = "at"
    if one.standing != standing:
        yield f"“{one.standing}”, not “{standing}”"
    numbers = {
        "rate": own.rate, "low": own.low, "high": own.high, "chance": own.chance,
        "p": own.tails[0], "p_below": own.tails[1],
        "p_corrected": holm and holm[0], "p_below_corrected": holm and holm[1],
    }  # fmt: skip
    for name, value in one.numbers.items():
        right = numbers[name]
        if (value is None) != (right is None) or (right is not None and abs(value - right) > 1e-9):
            yield f"{name} {value}, not {right}"
    which = {"below": 1, "tied": 2, "missing": 3}.get(standing, 0)
    is_compared = standing != "unknown-words"
    texts = {
        "p": _p((holm or own.tails)[which]) if is_compared else None,
        "p_uncorrected": _p(own.tails[which]) if is_compared else None, "chance": _percent(own.chance),
        "interval": f"{_percent(own.low)} {_percent(own.high)}", "rate": _percent(own.rate),
        "mark": "" if standing == "above" else standing,
    }  # fmt: skip
    for name, text in one.shown.items():
        if text != texts[name]:
            yield f"shows {name} “{text}”, not “{texts[name]}”"


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def _percent(value: float) -> str:
    return f"{100 * value:.1f}%"


def _holm(tails: Any) -> Any:
    """Correct p by Holm's method, by column. statsmodels' multipletests does the same, but collects garbage
    in every call.
    """
    order = tails.argsort(axis=0)
    steps = np.take_along_axis(tails, order, 0) * np.arange(len(tails), 0, -1)[:, None]
    adjusted = np.minimum(1, np.maximum.accumulate(steps, axis=0))
    return np.take_along_axis(adjusted, order.argsort(axis=0), 0)


def families(
    runs: Sequence[SuiteRun], expected: Mapping[Of, Expected], sets: Mapping[str, Container[int]]
) -> dict[tuple[str, Of], list[Of]]:
    """Return (family, one of its rates) -> all of its rates: for a run its predictions, for a set of suites a
    model's results under a rule. `sets`: ids of revisions by name."""
    found: dict[tuple[str, Of], list[Of]] = {}
    for run in runs:
        own = [of for of in expected if of[0] == run.key and isinstance(of[1], int)]
        found |= {("run", of): own for of in own}
        for rule in RULES:
            for name, revisions in sets.items():
                found[name, (run.key, rule)] = [
                    (one.key, rule)
                    for one in runs
                    if one.model_id == run.model_id
                    and one.revision_id in revisions
                    and (one.key, rule) in expected
                ]
    return found


# --- what is stated ---
def content(client: Client, address: str) -> bytes:
    response = client.get(address)
    assert response.status_code == 200, (address, response.status_code)
    return b"".join(response.streaming_content) if response.streaming else response.content


def _text(client: Client, address: str) -> str:
    return content(client, address).decode()


def _page(client: Client, address: str) -> str:
    return " ".join(_text(client, address).split())


def _rows(client: Client, address: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_text(client, address))))


def _row(place: str, row: Mapping[str, Any], of: Of, family: str) -> Stated:
    numbers = {name: _number(row[name]) for name in NUMBERS if name in row}
    return Stated(place, of, family, row["against_chance"], numbers)


def _number(value: Any) -> float | None:
    return None if value in ("", None) else float(value)


def of_a_run(client: Client, run: SuiteRun) -> Iterator[Stated]:
    """Yield the statements of a run's page, files, API response, and text reports."""
    key, positions = run.key, [row.position for row in run.prediction_results.all()]
    page = html.unescape(_page(client, run.get_absolute_url()))
    blocks = re.findall(r'<div class="result-rate">(.*?)</div>', page, re.S)
    assert len(blocks) == len(positions)
    for position, block in zip(positions, blocks, strict=True):
        verdict = re.search(rf"<br>({WORDS}) \(([\d.]+%)\)", block)
        p = re.search(rf"one-sided p [a-z. ]*: ({P})", block)
        apart = re.search(rf"uncorrected: ({P})", block)
        interval = re.search(r"95% interval ([\d.]+%) to ([\d.]+%)", block)
        shown = {
            "p": p and p[1], "chance": verdict and verdict[2], "interval": interval and " ".join(interval.groups()),
            "rate": re.search(r'class="big">([\d.]+%)', block)[1],
        }  # fmt: skip
        if len(positions) > 1:
            shown["p_uncorrected"] = apart and apart[1]
        standing = STANDING_OF[verdict[1]] if verdict else ""
        yield Stated("run page", (key, position), "run", standing, shown=shown)
    table = re.search(r'id="by-rule">(.*?)</table>', page, re.S)
    if table:
        body = re.findall(r"<tr>(.*?)</tr>", table[1], re.S)[1:]
        for rule, row in zip(RULES, body, strict=True):
            yield from _cell("run page, rules", row, (key, rule))
    address = f"?run={key}"
    for row in _rows(client, reverse("export-table", args=["scores", "csv"]) + address):
        yield from _unless_empty("scores.csv", row, (key, row["rule"]), "")
    for row in _rows(client, reverse("export-table", args=["predictions", "csv"]) + address):
        yield _row("predictions.csv", row, (key, int(row["prediction_number"]) - 1), "run")
    for what, family in (("scores", ""), ("predictions", "run")):
        file = io.BytesIO(content(client, reverse("export-table", args=[what, "parquet"]) + address))
        for row in pq.read_table(file).to_pylist():
            of = (key, row["rule"]) if what == "scores" else (key, row["prediction_number"] - 1)
            yield from _unless_empty(f"{what}.parquet", row, of, family)
    answer = json.loads(content(client, reverse("api-run", args=[key])))
    for position, row in zip(positions, answer["predictions"], strict=True):
        yield _row("API run", row, (key, position), "run")
    for row in answer["scores"]:
        yield from _unless_empty("API run, rules", row, (key, row["rule"]), "")
    answers = json.loads(content(client, reverse("api-run-predictions", args=[key])))
    for position, row in zip(positions, answers["results"], strict=True):
        yield _row("API predictions", row, (key, position), "run")
    download = json.loads(content(client, reverse("run-download", args=[key, "json"])))
    for position, row in zip(positions, download["predictions"], strict=True):
        yield _row("JSON of the run", row, (key, position), "run")
    _, *lines = rate_table(_site(client).table([Run.of(answer)])).splitlines()
    for position, line in zip(positions, lines, strict=True):
        yield Stated("lmgym run", (key, position), "run", STANDING_OF[re.split(r"  +", line)[-1]])
    head = run_head(run)
    text = report.as_text(document_of(run.revision), result_of(run), head)
    said = re.findall(rf"^  ({WORDS})(?: \(one-sided p (?:= )?({P}).*)?$", text, re.M)
    for position, (words, p) in zip(positions, said, strict=True):
        yield Stated("evaluate", (key, position), "run", STANDING_OF[words], shown={"p": p or None})


def _site(client: Client) -> SiteClient:
    """Return the library's client of this site, with the test client as its transport."""

    def send(method: str, path: str, *, query: Mapping[str, str]) -> SimpleNamespace:
        return SimpleNamespace(body=content(client, f"/api/v1/{path}?{urlencode(query)}"))

    site = SiteClient("http://site")
    site.transport.send = send  # type: ignore[assignment, method-assign]
    return site


def _unless_empty(place: str, row: Mapping[str, Any], of: Of, family: str) -> Iterator[Stated]:
    """Yield the statement of a row, unless it has no rate; then it must have neither verdict nor p."""
    if _number(row["rate"]) is not None:
        yield _row(place, row, of, family)
    else:
        said = {name: row[name] for name in (*NUMBERS, "against_chance") if name in row}
        assert not any(said.values()), (place, of, said)


def _cell(place: str, row: str, of: Of) -> Iterator[Stated]:
    """Yield the statement of a row of a table on a page."""
    found = re.search(rf'> ?({P}|–)<span class="sub said">({WORDS})</span> ?</td>', row)
    interval = re.search(r"> ?([\d.]+%) to ([\d.]+%) ?</td>", row)
    if interval is None:
        assert found is None, (place, of, row)
        return
    p = None if found is None or found[1] == "–" else found[1]
    shown = {"p": p, "interval": " ".join(interval.groups())}
    yield Stated(place, of, "", STANDING_OF[found[2]] if found else "", shown=shown)


def of_a_table(client: Client, address: str, place: str, rule: str) -> Iterator[Stated]:
    """Yield the statements of pages of a suite or a model, and of comparisons on a suite: one run per row."""
    page = html.unescape(_page(client, address))
    table = re.search(r'<table [^>]*id="(?:scores|sides)"(.*?)</table>', page, re.S)
    assert table
    for row in re.findall(r"<tr>(.*?)</tr>", table[1], re.S)[1:]:
        key = re.search(r'href="/runs/([\w-]+)/"', row)[1]
        yield from _cell(place, row, (key, rule))


def of_a_board(client: Client, address: str, place: str, rule: str, family: str) -> Iterator[Stated]:
    """Yield the statements of a leaderboard's cells, and of the table on the front page."""
    page = _page(client, address)
    cells = re.findall(r'data-words="([^"]*)"><a class="cell([^"]*)" href="/runs/([\w-]+)/"', page)
    cells += [
        (words, look, key)
        for look, key, words in re.findall(
            r'<a class="cell([^"]*)" href="/runs/([\w-]+)/" title="([^"]*; 95%[^"]*)"', page
        )
    ]
    for words, look, key in cells:
        words = html.unescape(words)
        if words.startswith("no pass rate"):
            continue
        said = re.search(rf"chance [\d.]+%[,;] ({WORDS})(?:(?: \(|, )p (?:= )?({P}))?", words)
        interval = re.search(r"95% interval ([\d.]+%) to ([\d.]+%)", words)
        shown = {
            "p": said and said[2], "interval": " ".join(interval.groups()), "mark": look.strip().removeprefix("cell-"),
            "chance": re.search(r"chance ([\d.]+%)", words)[1],
        }  # fmt: skip
        yield Stated(place, (key, rule), family, STANDING_OF[said[1]] if said else "", shown=shown)


def of_board_files(client: Client, address: str, place: str, rule: str, family: str) -> Iterator[Stated]:
    """Yield the statements of a leaderboard's files. `address` contains FORM in place of the format."""
    for row in _rows(client, address.replace("FORM", "long.csv")):
        yield from _unless_empty(f"{place}, long.csv", row, (row["run"], rule), family)
        assert bool(row["family"]) == bool(family) or not row["against_chance"]
    whole = json.loads(content(client, address.replace("FORM", "json")))
    assert bool(whole["family"]) == bool(family)
    yield from _of_cells(f"{place}, JSON", whole["models"], rule, family)


def of_an_answer(client: Client, address: str, place: str, rule: str, family: str) -> Iterator[Stated]:
    answer = json.loads(content(client, address))
    assert bool(answer["family"]) == bool(family)
    yield from _of_cells(f"{place}, API", answer["results"], rule, family)


def _of_cells(place: str, rows: Sequence[Mapping[str, Any]], rule: str, family: str) -> Iterator[Stated]:
    for row in rows:
        for cell in row["suites"].values():
            if cell is not None:
                yield _row(place, cell, (cell["run"], rule), family)


def of_a_chart(
    client: Client, address: str, place: str, rule: str, family: str, keys: Mapping[str, str]
) -> Iterator[Stated]:
    """Yield the statements in the data of a chart. `keys`: run by model, if rows do not name their run."""
    for row in _rows(client, address):
        yield from _unless_empty(place, row, (row.get("run") or keys[row["model"]], rule), family)


def everything(
    client: Client,
    runs: Sequence[SuiteRun],
    *,
    tag: str = "",
    collection: str = "",
    choices: Sequence[str] = ("",),
) -> Iterator[Stated]:
    """Yield all statements about these runs, which must be all runs of the site, and public. `choices`:
    queries that filter leaderboards; the first rule is tried with all of them, the others with the first.
    """
    for run in runs:
        yield from of_a_run(client, run)
    models = {run.model.slug: run.model for run in runs}
    scopes = [("leaderboard", "", "")]
    scopes += [("leaderboard of a tag", f"&tag={tag}", "")] if tag else []
    scopes += [("leaderboard of a collection", "", collection)] if collection else []
    for rule in RULES:
        query = f"?rule={rule}"
        for model in models.values():
            yield from of_a_table(client, model.get_absolute_url() + query, "model page", rule)
        for revision in {run.revision_id: run.revision for run in runs}.values():
            own = {run.model.slug: run.key for run in runs if run.revision_id == revision.pk}
            yield from _on_a_suite(client, revision.suite.slug, revision.get_absolute_url(), rule, own)
        yield from of_a_board(client, reverse("home") + query, "front page", rule, "")
        for place, narrowed, of in scopes:
            for choice in choices if rule == RULES[0] else choices[:1]:
                family = place if narrowed or of else ""
                yield from _on_boards(client, place, query + narrowed + choice, rule, family, of)


def _on_a_suite(client: Client, slug: str, page: str, rule: str, keys: Mapping[str, str]) -> Iterator[Stated]:
    yield from of_a_table(client, f"{page}?rule={rule}", "suite page", rule)
    chart = f"{reverse('figure', args=['suite-models', 'csv'])}?suite={slug}&r=1&rule={rule}"
    yield from of_a_chart(client, chart, "chart of a suite", rule, "", keys)
    if len(keys) > 1:
        models = "".join(f"&model={name}" for name in keys)
        compare = f"{reverse('compare')}?suite={slug}&rule={rule}{models}"
        yield from of_a_table(client, compare, "compare page", rule)
        answer = f"{reverse('api-compare-suite', args=[slug])}?rule={rule}&model={','.join(keys)}"
        for side in json.loads(content(client, answer))["sides"]:
            yield from _unless_empty("API compare", side, (side["run"], rule), "")


def _on_boards(
    client: Client, place: str, query: str, rule: str, family: str, collection: str
) -> Iterator[Stated]:
    page, files = reverse("leaderboard"), reverse("leaderboard-download", args=["FORM"])
    of = ""
    if collection:
        page = reverse("collection-detail", args=[collection])
        files, of = reverse("collection-download", args=[collection, "FORM"]), f"&collection={collection}"
    yield from of_a_board(client, page + query, place, rule, family)
    yield from of_board_files(client, files + query, place, rule, family)
    answer = reverse("api-leaderboard") + query.replace("&layout=suites", "") + of  # the API has no layout
    yield from of_an_answer(client, answer, place, rule, family)
    chart = reverse("figure", args=["leaderboard-heat", "csv"]) + query + of
    yield from of_a_chart(client, chart, f"{place}, chart", rule, family, {})
