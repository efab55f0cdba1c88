"""Pages for the leaderboard."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import prefetch_related_objects
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from gym.accounts.requests import SignedInRequest
from gym.downloads import csv_download, json_download
from gym.runs.pages.export_views import EXPORT_TABLES
from gym.runs.pages.heatmap import DENSE, board_table, columns_page, missing_words
from gym.runs.pages.leaderboard_figures import (
    board_methods_files,
    board_paper_files,
    heat_files,
    scores_figure,
)
from gym.runs.pages.paper import board_paper_table, table_file
from gym.runs.read.leaderboard.address import read_options
from gym.runs.read.leaderboard.build import StoredBoard, leaderboard
from gym.runs.read.leaderboard.ceilings import ceilings_of
from gym.runs.work import services
from gym.sharing.models import Visibility
from lmgym.runs.coverage import LOW_COVERAGE
from lmgym.runs.leaderboard import export
from lmgym.runs.leaderboard.board import Column
from lmgym.runs.leaderboard.options import Options
from lmgym.runs.rules import RULES
from lmgym.text import count

FORMS = ("csv", "long.csv", "tex", "md", "json")


@require_safe
def leaderboard_page(request: HttpRequest) -> HttpResponse:
    """Show the leaderboard. Context: see board_context."""
    options = read_options(request.GET)
    if any(name.startswith("w.") for name in request.GET):  # the form has many fields: shorten the URL
        return redirect(f"{reverse('leaderboard')}?{options.query()}")
    board = leaderboard(request.user, options)
    return render(request, "runs/leaderboard.html", board_context(request, board, reverse("leaderboard")))


def board_context(request: HttpRequest, board: StoredBoard, address: str, **of: str) -> dict[str, Any]:
    """Build the context for templates/runs/_board.html: board (StoredBoard), options, columns (the shown page of them),
    table (BoardTable), rules, note, dense, low_coverage, missing (words by row), n_runnable (missing cells whose runs
    this user may queue), heads (see `_heads`), sorts, query, address, export_tables, whole_site (is it the site's
    leaderboard?), heat_files, paper and methods_files (PaperFiles), scores_figure, ceilings (Ceiling or None of each
    column; empty without results of people).

    `address`: URL of the page, without query. `of`: slug of the collection, for figures.
    """
    options = board.options
    _prefetch_owners(board)
    columns = columns_page(board, request.GET.get("page"))
    return {
        "board": board,
        "options": options,
        "columns": columns,
        "table": board_table(board, columns),
        "rules": list(RULES.values()),
        "note": export.note(board),
        "dense": board.n_cells > DENSE,
        "low_coverage": LOW_COVERAGE,
        "missing": {row.label: words for row in board.rows if (words := missing_words(row))},
        "n_runnable": len(services.missing_pairs(board, request.user)),
        "heads": _heads(board, columns),
        "sorts": _sorts(options),
        "query": options.query(),
        "address": address,
        "export_tables": EXPORT_TABLES,
        "whole_site": address == reverse("leaderboard"),
        "heat_files": heat_files(board, **of),
        "paper": board_paper_files(board, **of),
        "methods_files": board_methods_files(board, **of),
        "scores_figure": scores_figure(board, **of),
        "ceilings": ceilings_of(request.user, [column.revision for column in columns], options.rule),
    }


SORTS = {
    "-sg": "best score first",
    "sg": "lowest score first",
    "name": "by name",
    "-parameters": "largest model first",
    "parameters": "smallest model first",
    "missing": "fewest missing first",
    "-missing": "most missing first",
}


def _sorts(options: Options) -> list[tuple[str, str]]:
    """Return (order, label) pairs for the form, including the order by a column if the URL has one."""
    known = dict(SORTS)
    if options.sort not in known:
        down, name = options.sort.startswith("-"), options.sort.removeprefix("-").partition(":")[2]
        known[options.sort] = f"by {name or 'name'}, {'highest' if down else 'lowest'} first"
    return list(known.items())


def _prefetch_owners(board: StoredBoard) -> None:
    """Fetch the owners of the suites and models of a board."""
    suites = list(board.all_suites)
    prefetch_related_objects(suites, "owner")
    prefetch_related_objects(
        [suite for suite in suites if suite.visibility == Visibility.UNLISTED], "collaborations"
    )
    prefetch_related_objects([model for row in board.rows for model in row.models], "owner")


def _heads(board: StoredBoard, columns: Iterable[Column]) -> dict[str, Any]:
    """Return the sort links of the headings: (query, order) for name and sg, and lists for tags and suites, whose
    entries begin with the tag or column."""
    options = board.options

    def link(key: str) -> tuple[str, str]:
        order = {key: "ascending", f"-{key}": "descending"}.get(options.sort, "")
        return options.query(sort=key if order == "descending" else f"-{key}"), order

    return {
        "name": (options.query(sort="name" if options.sort != "name" else "-name"), link("name")[1]),
        "sg": link("sg"),
        "tags": [(tag, *link(f"tag:{tag}")) for tag in board.tags],
        "suites": [(column, *link(f"suite:{column.key}")) for column in columns],
    }


@require_safe
def leaderboard_download(request: HttpRequest, form: str) -> HttpResponse:
    """Download csv (as on the page), long.csv (a row per cell), tex, md or json."""
    board = leaderboard(request.user, read_options(request.GET))
    address = request.build_absolute_uri(f"{reverse('leaderboard')}?{board.options.query()}")
    return board_file(board, form, address)


def board_file(board: StoredBoard, form: str, address: str, stem: str = "leaderboard") -> HttpResponse:
    if form not in FORMS:
        raise Http404(f"A leaderboard is available as {', '.join(FORMS)}.")
    stem = f"{stem}-{board.options.rule.key}"
    if form == "json":
        return json_download(f"{stem}.json", export.as_json(board, address))
    if form == "long.csv":
        return csv_download(f"{stem}-long.csv", export.LONG_HEADER, export.long_rows(board))
    if form == "csv":
        header, table_rows = export.wide(board)
        common = {"rule": board.options.rule.key} | export.weights_column(board)
        missing = [export.missing_column(row) for row in board.rows]
        last = ("missing",) if any(missing) else ()
        rows = (
            (*common.values(), *row, *([words] if last else []))
            for row, words in zip(table_rows, missing, strict=True)
        )
        return csv_download(f"{stem}.csv", (*common, *header, *last), rows)
    return table_file(board_paper_table(board, stem), form, stem)


@login_required
@require_POST
def leaderboard_run_missing(request: SignedInRequest) -> HttpResponse:
    """Queue runs for the missing cells of the leaderboard that the query string selects."""
    return run_missing(request, lambda options: leaderboard(request.user, options), reverse("leaderboard"))


def run_missing(request: SignedInRequest, build: Any, address: str) -> HttpResponse:
    options: Options = read_options(request.GET)
    queued = services.queue_missing(build(options), actor=request.user)
    if queued.runs:
        more = f" {queued.left} more can be queued when these have finished." if queued.left else ""
        messages.success(request, f"{_runs(len(queued.runs))} queued.{more if not queued.stopped else ''}")
    if queued.stopped:
        messages.error(request, f"{count(queued.left, 'run')} could not be queued: {queued.stopped}")
    elif not queued.runs:
        waiting = f" {_runs(queued.waiting)} already under way." if queued.waiting else ""
        messages.info(request, f"Nothing to queue.{waiting}")
    return redirect(f"{address}?{options.query()}")


def _runs(n: int) -> str:
    return "1 run is" if n == 1 else f"{n} runs are"
