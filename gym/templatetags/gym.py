"""Template tags and filters, loaded in all templates (TEMPLATES builtins). Except for the filters that take a user,
they do not query the database."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django import template
from django.core.paginator import Page
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html, format_html_join

from gym.accounts.login_redirect import page_to_return_to
from gym.accounts.models import AnyUser
from gym.page_cache.reads import keep_for
from gym.runs.models import SuiteRun
from gym.runs.pages.figures import file_links
from gym.runs.read.presenters import owner_name as owner_of_run
from gym.templatetags import icons
from lmgym.charts import regions
from lmgym.charts.colour_steps import CONTRAST_EDGES, HEAT_EDGES, heat, rate_step
from lmgym.charts.figure import Figure
from lmgym.charts.svg import Markup, element
from lmgym.runs.against_chance import ALPHA, Verdict
from lmgym.runs.tables import IN_BITS
from lmgym.suites.authors import Author
from lmgym.suites.formulas import FALSE, NOT_EVALUABLE, OUTCOME_NAMES, TIE, TRUE
from lmgym.text import count
from lmgym.text.number_format import (
    MISSING,
    bits,
    compact,
    duration,
    eta,
    format_interval,
    grouped,
    number_or_none,
    p_value,
    percent,
    plain_value,
    points,
    quarter,
    score,
    signed,
    surprisal,
    whole_percent,
)
from lmgym.text.problems import in_words
from models_registry.models import RegisteredModel
from models_registry.permissions import can_view
from suites.presenters import authors_of
from suites.presenters import owner_name as owner_of_suite

register = template.Library()

MINUTE, HOUR, DAY = 60, 3600, 86_400  # in seconds
UNITS_OF_AGE = ((7 * DAY, "week"), (DAY, "day"), (HOUR, "hour"), (MINUTE, "minute"))
for _filter in (
    bits,
    compact,
    duration,
    eta,
    file_links,
    grouped,
    p_value,
    percent,
    plain_value,
    points,
    quarter,
    score,
    signed,
    surprisal,
    whole_percent,
):
    register.filter(_filter)


@register.simple_tag
def interval(low: Any, high: Any, form: str, *places: int) -> str:
    """Format the limits of an interval as the filter `form` formats numbers, with `places` decimals if given."""
    return format_interval(low, high, lambda limit: register.filters[form](limit, *places))


@register.simple_tag(takes_context=True)
def sign_in_url(context: template.Context, name: str) -> str:
    """Return the URL of "login" or "sign-up", which afterwards redirects to the current page."""
    request = context.get("request")
    back = page_to_return_to(request) if request is not None else ""
    return reverse(name) + (f"?{urlencode({'next': back})}" if back else "")


@register.filter
def place(problem: Any) -> str:
    """Describe the position of a problem (or JSON path) in words, counting from 1, followed by the JSON path."""
    fields = (
        problem
        if isinstance(problem, dict)
        else {"where": problem if isinstance(problem, str) else problem.where}
    )
    where = str(fields.get("where", ""))
    words = str(fields.get("names", getattr(problem, "names", ""))) or in_words(where)
    return words if words == where else f"{words} ({where})"


@register.filter
def as_json(value: Any) -> str:
    """Format a value from a file or another program as JSON: true, null, "text"."""
    return json.dumps(value, ensure_ascii=False, default=str)


@register.filter
def page_numbers(page: Page[Any]) -> Iterator[str | int]:
    """Return page numbers with ellipses: the first and last two, and the neighbours of this page."""
    return page.paginator.get_elided_page_range(page.number, on_each_side=1, on_ends=2)


@register.filter
def seen_by(model: RegisteredModel | None, user: AnyUser) -> RegisteredModel | None:
    """Return the model, or None if this user may not see it."""
    return model if model is not None and can_view(user, model) else None


@register.filter
def owner_for(obj: Any, user: AnyUser) -> str:
    """Return the name of the owner of a suite or run; ANONYMOUS if this user may not know it, "" if the account was
    deleted.
    """
    return owner_of_run(obj, user) if isinstance(obj, SuiteRun) else owner_of_suite(obj, user)


@register.filter
def authors_for(suite: Any, user: AnyUser) -> list[Author]:
    """Return the suite's authors; empty if this user may not see them."""
    return authors_of(suite, user)


register.filter(heat)
register.filter(rate_step)


@register.simple_tag
def heat_scale() -> list[tuple[str, str]]:
    """Return (class, label) for every heat step, for legends."""
    labels = [f"<{HEAT_EDGES[0]}", *(f"{edge}+" for edge in HEAT_EDGES)]
    return [(f"h{k}", label) for k, label in enumerate(labels)]


@register.simple_tag
def contrast_scale() -> list[tuple[str, str]]:
    """Return (class, label) for every step of a difference in bits, for legends."""
    more = [(f"d{k}", f"+{edge:g}") for k, edge in enumerate(CONTRAST_EDGES, start=1)]
    less = [(f"d-{k}", f"−{edge:g}") for k, edge in enumerate(CONTRAST_EDGES, start=1)]
    return [*reversed(less), ("d0", "0"), *more]


@register.filter
def cond(condition: str, names: Sequence[str]) -> str:
    """Return the colour class of a condition, by its position in the revision."""
    place = list(names).index(condition) if condition in names else 0
    return f"cond-{place % 12}"


@register.filter
def breakable(name: str) -> str:
    """Let a name of more than 16 characters break after `_ . / : -`, as the grid does."""
    if len(name) <= 16:
        return format_html("{}", name)
    *parts, last = re.split(r"(?<=[_./:-])", name)
    return format_html(
        "<span>{}{}</span>", format_html_join("", "{}<wbr>", ((part,) for part in parts)), last
    )


@register.filter
def get(mapping: Any, key: Any) -> Any:
    """Look up a key or an index; None if it does not exist."""
    if isinstance(mapping, Mapping):
        return mapping.get(key)
    try:
        return mapping[int(key)]
    except (TypeError, ValueError, IndexError, KeyError):
        return None


@register.filter
def last_of(values: Sequence[Any]) -> Any:
    return values[-1] if values else ""


@register.simple_tag
def figure_rows(figure: Figure) -> Markup:
    """Render the rows of a chart's table. Not a template, because a suite's chart has hundreds of cells."""
    return Markup("".join([_figure_row(*row) for row in figure.rows]))


def _figure_row(first: Any, *others: Any) -> Markup:
    cells = [element("td", None, _figure_cell(value)) for value in others]
    return element("tr", None, element("th", {"scope": "row"}, _figure_cell(first)), *cells)


def _figure_cell(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}".replace("-", "−")
    return MISSING if value is None else str(value)


@register.filter
def zipped(left: Sequence[Any], right: Sequence[Any]) -> list[tuple[Any, Any]]:
    return list(zip(left, right, strict=False))


@register.filter
def short_hash(value: Any) -> str:
    text = str(value or "")
    return f"{text[:12]}…" if len(text) > 14 else text


@register.filter
def visible_spaces(text: Any) -> list[tuple[str, bool]]:
    """Split a token into (text, is it a space?); spaces are shown as ␣."""
    parts: list[tuple[str, bool]] = []
    for character in str(text):
        is_space = character in " \t\n\u00a0Ġ▁"
        shown = "␣" if is_space else character
        if parts and parts[-1][1] == is_space:
            parts[-1] = (parts[-1][0] + shown, is_space)
        else:
            parts.append((shown, is_space))
    return parts


@register.filter
def minus(value: int, other: int) -> int:
    return value - other


@register.filter
def words(value: Any) -> str:
    """Turn snake_case into words."""
    return str(value).replace("_", " ")


@register.filter
def heading(column: str) -> str:
    """Turn the name of a results column into words, with the unit if it is bits."""
    return f"{words(column)} (bits)" if column in IN_BITS or column.endswith("surprisal") else words(column)


# --- small components -------------------------------------------------------------------------------------------------
@register.simple_tag
def icon(name: str) -> Markup:
    return icons.icon(name)


STATES: dict[str, tuple[str, str, str]] = {  # state -> CSS class, icon, words
    "queued": ("badge-busy-still", "clock", "queued"),
    "running": ("badge-busy", "spinner", "running"),
    "done": ("badge-good", "check", "done"),
    "failed": ("badge-bad", "cross", "failed"),
    "cancelled": ("", "ban", "cancelled"),
    "draft": ("badge-warn", "draft", "draft"),
    "frozen": ("", "frozen", "frozen"),
    "uploaded": ("", "upload", "uploaded"),
    "private": ("", "private", "private"),
    "unlisted": ("", "link", "unlisted"),
    "public": ("", "public", "public"),
    "simulated": ("badge-warn", "info", "simulated"),
    "ready": ("badge-good", "check", "ready"),
    "broken": ("badge-bad", "cross", "does not work"),
    "unchecked": ("badge-busy", "spinner", "being checked"),
    "unapproved": ("badge-warn", "clock", "waiting for approval"),
    "refused": ("badge-bad", "cross", "refused"),
    "pass": ("badge-good", "check", "passed"),
    "fail": ("badge-bad", "cross", "failed"),
    "error": ("badge-warn", "alert", "error"),
    "timeout": ("badge-warn", "clock", "timeout"),
    "skipped": ("", "dash", "skipped"),
    "flaky": ("badge-warn", "equal", "flaky"),
}


@register.inclusion_tag("includes/badge.html")
def badge(state: str, label: str = "") -> dict[str, str]:
    """Render a state as icon and word."""
    look, drawing, text = STATES.get(str(state), ("", "info", str(state)))
    return {"look": look, "icon_name": drawing, "label": label or text}


OUTCOMES: dict[int, tuple[str, str, str]] = {
    FALSE: ("mark-false", "cross", OUTCOME_NAMES[FALSE]),
    TRUE: ("mark-true", "check", OUTCOME_NAMES[TRUE]),
    TIE: ("mark-tie", "equal", f"no difference ({OUTCOME_NAMES[TIE]})"),
    NOT_EVALUABLE: ("mark-none", "dash", OUTCOME_NAMES[NOT_EVALUABLE]),
}


@register.inclusion_tag("includes/mark.html")
def mark(code: Any) -> dict[str, str]:
    """Render an outcome as an icon, with its word as a tooltip and for screen readers."""
    look, drawing, text = OUTCOMES.get(int(code), OUTCOMES[NOT_EVALUABLE])
    return {"look": look, "icon_name": drawing, "label": text}


@register.filter
def outcome_word(code: Any) -> str:
    return OUTCOMES.get(int(code), OUTCOMES[NOT_EVALUABLE])[2]


@register.filter
def under(run: Any, rule: Any) -> Any:
    """Return the score of a finished run under a scoring rule (gym.runs.models.RunScore). Prefetch `scores`."""
    from gym.runs.read.scores import scored

    return scored(run, rule).score if run.is_done else None


@register.filter
def result_at(scored: Any, position: int) -> Any:
    """Return the result of the prediction at this position; None if an upload lacks it."""
    return next((row for row in scored.results if row.position == position), None)


@register.filter
def backend_label(kind: str) -> str:
    from lmgym.models.backends import BACKENDS
    from models_registry.models import AGENT, UPLOADED

    if kind in (AGENT, UPLOADED):
        return "Agent server" if kind == AGENT else "Uploaded results"

    return BACKENDS[kind].label if kind in BACKENDS else kind


def _interval(score: Any) -> tuple[float | None, float | None]:
    return number_or_none(getattr(score, "low", None)), number_or_none(getattr(score, "high", None))


@register.simple_tag
def alpha() -> float:
    """Return the significance level for comparisons with chance."""
    return ALPHA


@register.simple_tag
def chance_cell(verdict: Verdict) -> Markup:
    """Render p of a comparison with chance and its verdict as a table cell."""
    words = verdict.words
    label = [element("span", {"class": "sub said"}, words)] if words else []
    return _number_cell(p_value(verdict.decisive_p), *label, value=decimals(verdict.decisive_p, 6))


@register.simple_tag
def score_cells(score: Any, verdict: Verdict, chance: bool = False) -> Markup:
    """Render a score as table cells: pass rate, 95% interval, chance level (if `chance`), comparison with chance, items
    held. Not a template, because a model has a row for each of a thousand suites."""
    low, high = decimals(score.low, 4), decimals(score.high, 4)
    passed, judged = score.passed, score.judged
    held = MISSING if score.rate is None else f"{passed} / {judged}"
    cells = [
        _number_cell(rate(score, width=70), value=decimals(score.rate, 4)),
        _number_cell(format_interval(score.low, score.high, percent), value=low, copy=f"{low}\t{high}"),
        *([_number_cell(percent(score.chance), value=decimals(score.chance, 4))] if chance else []),
        chance_cell(verdict),
        _number_cell(held, value=str(passed), copy=f"{passed}\t{judged}"),
    ]
    return Markup("".join(cells))


@register.simple_tag
def ties_cell(run: SuiteRun, score: Any) -> Markup:
    """Render the ties of a run's score, and the outcomes that are too close to call, as a table cell."""
    if not run.has_surprisals:
        return _number_cell(MISSING, value="", copy="")
    close = score.too_close or 0
    label = [element("span", {"class": "sub"}, f"{close} too close to call")] if close else []
    return _number_cell(str(score.ties), *label, value=str(score.ties), copy=f"{score.ties}\t{close}")


@register.simple_tag
def margin_cell(score: Any) -> Markup:
    """Render the mean margin of a score, with its interval if it has one, as a table cell."""
    mean, low, high = score.mean_margin, score.margin_low, score.margin_high
    label = [element("span", {"class": "sub"}, format_interval(low, high, signed))] if low is not None else []
    copy = "\t".join(decimals(value, 4) for value in (mean, low, high))
    return _number_cell(signed(mean), *label, value=decimals(mean, 4), copy=copy)


def _number_cell(*children: str, value: str, copy: str | None = None) -> Markup:
    """Render a table cell that sorts by `value` and is copied as `copy`, see copy.js."""
    return element("td", {"class": "num", "data-value": value, "data-copy": copy}, *children)


@register.simple_tag
def rate(score: Any, width: int = 96) -> Markup:
    """Render the pass rate of a RunScore, a Cell or a PredictionResult with a bar that shows its interval. Not a
    template, because tables have a thousand rates."""
    value = number_or_none(getattr(score, "rate", None))
    if value is None:
        return element("span", {"class": "quiet"}, "–")
    return element("span", {"class": "rate"}, element("b", None, percent(value)), rate_bar(score, width))


@register.filter
def decimals(value: Any, places: int) -> str:
    """Format a number for data attributes: 0.5 -> 0.5000; empty without a number. Ten times as fast as floatformat,
    which looks up the language."""
    number = number_or_none(value)
    return "" if number is None else f"{number:.{places}f}"


@register.simple_tag
def rate_bar(score: Any, width: int = 96) -> Markup:
    """Render a pass rate's bar without the number."""
    low, high = _interval(score)
    value, chance = (
        number_or_none(getattr(score, "rate", None)),
        number_or_none(getattr(score, "chance", None)),
    )
    return regions.rate_bar(value, low, high, chance, width=float(width))


@register.simple_tag
def margin_strip(result: Any) -> Markup:
    """Draw the margins of a PredictionResult as a strip with one dot per item."""
    labels = [f"item {number}" for number in result.items]
    return regions.margin_strip(
        result.margins, result.outcomes, f"Margins: {result.prediction.label}", labels=labels
    )


@register.inclusion_tag("includes/formula.html")
def formula(shown: Any, revision: Any) -> dict[str, Any]:
    """Render a prediction (ShownPrediction) with region names and conditions in place of numbers and symbols."""
    return {
        "parts": [_piece(piece, revision) for piece in shown.pieces if piece.kind != "blank"],
        "error": shown.error,
        "source": shown.prediction.formula,
    }


_WORDS = {
    "&": "and",
    "|": "or",
    "~": "not",
    "-": "−",
    "*": "×",
    "/": "÷",
    ">=": "≥",
    "<=": "≤",
    "!=": "≠",
    "==": "=",
}


def _piece(piece: Any, revision: Any) -> dict[str, Any]:
    if piece.kind != "ref":
        return {"kind": piece.kind, "text": _WORDS.get(piece.text.strip(), piece.text.strip())}
    region = (
        "whole sentence"
        if piece.region == "*"
        else revision.regions.get(piece.region, f"region {piece.region}")
    )
    return {
        "kind": "ref",
        "text": piece.text,
        "region": region,
        "number": piece.region,
        "condition": piece.condition,
        "look": cond(piece.condition, revision.condition_names),
    }


@register.inclusion_tag("includes/sort_heading.html", takes_context=True)
def sort_heading(
    context: Any, key: str, label: str, current: str, numeric: bool = False, anchor: str = "", copy: str = ""
) -> dict[str, Any]:
    """Render a table heading that sorts on the server; a second click reverses. `copy`: its data-copy, see copy.js."""
    order = {key: "ascending", f"-{key}": "descending"}.get(current, "")
    next_sort = f"-{key}" if (order == "ascending" or (numeric and not order)) else key
    query = context["request"].GET.copy()
    query.pop("page", None)
    query["sort"] = next_sort
    href = f"?{query.urlencode()}{anchor}"
    return {"label": label, "order": order, "numeric": numeric, "href": href, "copy": copy}


@register.simple_tag
def when(moment: datetime | None) -> Markup:
    """Render a time as "3 minutes ago", or as a date after 30 days, with the exact time in the tooltip. Not a template,
    because lists have a time in each row, and formatting a date there takes as long as the rest of the row."""
    if moment is None:
        return Markup(MISSING)
    age = (timezone.now() - moment).total_seconds()
    local = timezone.localtime(moment)
    if age < 30 * DAY:
        seconds, unit = next((pair for pair in UNITS_OF_AGE if age >= pair[0]), (MINUTE, ""))
        keep_for(seconds - age % seconds)  # then the text changes
        text = f"{count(int(age // seconds), unit)} ago".replace(" ", "\xa0", 1) if unit else "just now"
    else:
        text = f"{local.day} {local:%b %Y}"
    exact = f"{local.day} {local:%B %Y, %H:%M} {local.tzname()}"
    return element("time", {"datetime": local.isoformat(), "title": exact}, text)
