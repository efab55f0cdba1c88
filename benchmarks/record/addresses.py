"""Which addresses are asked: every one that the URL resolver has, with arguments from links of pages and of the API.

Links that hold a key which the record cannot name, or another of the demo's suites and models than the chosen ones, are
left out, so that two commits are asked the same.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from benchmarks.record import seeded
from benchmarks.record.people import Answer, quiet, write
from benchmarks.record.shapes import KEY, Page
from benchmarks.record.world import API, World

HOUR = 200.0
MOST_NUMBERS = 2  # of items, cases, collaborators beneath one thing
MOST_QUERIES = 3  # of the same address, with different parameters
MOST_QUERIES_OF_A_ROUTE = 50
TRIED = 2
MOST_POSTS = 2  # addresses of one route that take no GET
ADMIN_ROLES = ("stranger", "staff")
TOO_LARGE = re.compile(r"/exports/(tokens|regions)\W\w+/?$")  # of all runs
DRAWN_AGAIN = re.compile(
    r"/figures/[\w-]+\W(csv|pdf|png)/?\?"
)  # the same as json and svg: of two figures suffices
NEVER = {"cursor", "next", "offset"}  # parameters of links that are not followed
PARAMETER = re.compile(r"<(?:\w+:)?(\w+)>")
SAME_IN_API = (
    (re.compile(r"^/figures/([\w-]+)\.(\w+)"), rf"/{API.strip('/')}/figures/\1/\2/"),
    (re.compile(r"^/exports/([\w-]+)\.(\w+)"), rf"/{API.strip('/')}/exports/\1/\2/"),
)
LINKS = re.compile(r'"((?:https?://localhost)?/[^"\\\s]*)"')


class Route:
    """A pattern of the URL resolver."""

    def __init__(self, route: str, name: str) -> None:
        self.route, self.name = route, name
        self.parameters = PARAMETER.findall(route)
        self.start = route[: route.rfind(">") + 1]
        self.head = re.compile("/" + self._regex(self.start) + r"(?=[/.]|$)")
        self.whole = re.compile("/" + self._regex(route))

    @staticmethod
    def _regex(route: str) -> str:
        parts = PARAMETER.split(route)
        return "".join(
            re.escape(part) if k % 2 == 0 else f"(?P<{part}>[^/]+?)" for k, part in enumerate(parts)
        )

    def fill(self, values: dict[str, str]) -> str:
        return "/" + PARAMETER.sub(lambda found: values[found[1]], self.route)


def routes() -> list[Route]:
    from django.urls import URLPattern, get_resolver

    def walk(patterns: Any, before: str) -> Iterator[Route]:
        for pattern in patterns:
            route = before + str(pattern.pattern)
            if not isinstance(pattern, URLPattern):
                yield from walk(pattern.url_patterns, route)
            elif not re.search(r"[\^$(\\]", route):
                yield Route(route, pattern.name or "")

    return list(walk(get_resolver().url_patterns, ""))


def record(world: World, out: Path) -> None:
    """Ask every address as everybody, and write the answers."""
    crawl = Crawl(world)
    crawl.run()
    paths = chosen(crawl, world)
    print(f"{len(crawl.answers)} pages crawled, {len(paths)} addresses", flush=True)
    seconds: dict[str, float] = {}
    for path in paths:
        for role, person in world.people.items():
            if path.startswith("/admin/") and role not in ADMIN_ROLES:
                continue
            seeded.step(f"{role} {path}", hours=HOUR)
            with quiet():
                answer = person.ask("GET", path)
            scrub = world.scrubber.of_answer()
            write(out / folder_of(path, world) / f"{role}.txt", answer.lines(scrub))
            seconds[path] = seconds.get(path, 0.0) + answer.seconds
    write(out.parent / "unasked.txt", unasked(paths))
    slowest = sorted(seconds.items(), key=lambda entry: -entry[1])[:15]
    print("\n".join(f"{spent:6.1f} s  {path}" for path, spent in slowest), flush=True)


def chosen(crawl: Crawl, world: World) -> list[str]:
    """What is asked, in the order of the files."""
    posts: dict[str | None, int] = defaultdict(int)
    paths = []
    for path in sorted(crawl.found, key=lambda path: folder_of(path, world)):
        if crawl.answers[path] == 405:
            posts[resolved_route(path)] += 1
        if posts[resolved_route(path)] <= MOST_POSTS:
            paths.append(path)
    return paths


def folder_of(path: str, world: World) -> str:
    """The address as a folder: keys by their names, what follows the question mark as a folder of its own."""
    parts = urlsplit(world.scrubber.of_answer()(path))
    place = parts.path.strip("/") or "home"
    return f"{place}/?{parts.query.replace('/', '|')}" if parts.query else place


def unasked(paths: list[str]) -> list[str]:
    """Routes that no asked address belongs to."""
    asked = {resolved_route(path) for path in paths}
    return sorted(f"{route.name} {route.route}" for route in routes() if route.route not in asked)


def resolved_route(path: str) -> str | None:
    from django.urls import Resolver404, resolve

    try:
        return str(resolve(urlsplit(path).path).route)
    except Resolver404:
        return None


class Crawl:
    """Follows links as alice and, where she may not read, as staff."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.routes = routes()
        self.queue: list[str] = []
        self.found: set[str] = set()
        self.asked: set[str] = set()
        self.answers: dict[str, int] = {}
        self.queries: dict[str, set[tuple[str, ...]]] = defaultdict(set)
        self.kinds: dict[str, int] = defaultdict(int)

    def run(self) -> None:
        for route in self.routes:
            if not route.parameters:
                self.add("/" + route.route)
        for place in self.world.places:
            self.add(place)
        self.drain()
        for _ in range(2):
            self.add_from_routes()
            self.drain()

    def drain(self) -> None:
        while self.queue:
            path = self.queue.pop(0)
            seeded.step(path, hours=HOUR)
            with quiet():
                answer = self.world.people["owner"].ask("GET", path)
                if answer.status != 200:
                    answer = self.world.people["staff"].ask("GET", path)
            self.answers[path] = answer.status
            if answer.status == 404:
                self.found.discard(path)
            for link in links(answer):
                self.add(link)

    def add(self, link: str) -> None:
        parts = urlsplit(link)
        if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
            return
        asked = parse_qsl(parts.query, keep_blank_values=True)
        path = parts.path + (f"?{urlencode(asked)}" if asked else "")
        if (
            path in self.asked
            or not is_stable(path, self.world)
            or (route := resolved_route(parts.path)) is None
        ):
            return
        names = tuple(sorted({name for name, _ in asked}))
        if NEVER & set(names) or not self._is_wanted(parts.path, names, route):
            return
        self.found.add(path)
        self.asked.add(path)
        self.queue.append(path)

    def _is_wanted(self, path: str, names: tuple[str, ...], route: str) -> bool:
        """A few of what differs in numbers or parameters alone."""
        if names:
            seen = self.queries[path]
            if names in seen or len(seen) >= MOST_QUERIES:
                return False
            seen.add(names)
            self.kinds[f"?{route}"] += 1
            return self.kinds[f"?{route}"] <= MOST_QUERIES_OF_A_ROUTE
        numbers = re.sub(r"(?<=/r)\d+|(?<=/)\d+(?=/)", "#", path)
        if "#" in numbers:
            self.kinds[numbers] += 1
            return self.kinds[numbers] <= MOST_NUMBERS
        return True

    def add_from_routes(self) -> None:
        """Addresses that nothing links to (forms that are posted, operations of the API), with the arguments of the
        addresses beside them."""
        known = [(path, str(resolved_route(path))) for path in sorted(self.found)]
        forms = sorted({form for path, _ in known if (form := self._form(path))})
        for route in self.routes:
            if route.start:
                beside = [path for path, its in known if its.startswith(route.start)]
                heads = {
                    found[0]: found for path in beside if (found := route.head.match(urlsplit(path).path))
                }
                for found in heads.values():
                    self.add(route.fill(found.groupdict()))
                if route.parameters[-1] == "form" and route.route.startswith("api/"):
                    self._add_forms(route, [path for path, _ in known], forms)
        for path, _ in known:
            for page, operation in SAME_IN_API:
                if page.match(path):
                    self.add(page.sub(operation, path))

    def _add_forms(self, route: Route, known: list[str], forms: list[str]) -> None:
        """Files that the API has. Which forms there are is tried out on a few things, with the forms of the pages."""
        start = Route(route.route[: route.route.rfind("<")], "")
        tail = start.route[start.route.rfind(">") + 2 :]  # as in files/
        heads = [found for path in known if (found := start.whole.fullmatch(urlsplit(path).path + tail))]
        theirs = {
            form for path in known if resolved_route(path) == route.route and (form := self._form(path))
        }
        for k, found in enumerate(heads):
            for form in theirs if k >= TRIED else forms:
                self.add(route.fill(found.groupdict() | {"form": form}))

    @staticmethod
    def _form(path: str) -> str:
        from django.urls import resolve

        return str(resolve(urlsplit(path).path).kwargs.get("form", ""))


def links(answer: Answer) -> list[str]:
    kind = answer.headers.get("content-type", "")
    if location := answer.headers.get("location"):
        return [location]
    if kind.startswith("text/html"):
        page = Page(answer.body.decode())
        forms = [field.split(" ") for field in page.fields if field.startswith("form ")]
        return [link.split(" ")[-1] for link in page.links] + [words[2] for words in forms if len(words) > 2]
    return LINKS.findall(answer.body.decode()) if kind.startswith("application/json") else []


def is_stable(path: str, world: World) -> bool:
    keys = KEY.findall(path)
    words = set(re.split(r"[/?&=,]", path))
    if TOO_LARGE.search(path) or DRAWN_AGAIN.search(path) or (path.startswith("/admin/") and "?" in path):
        return False
    return all(key in world.scrubber.names for key in keys) and not words & world.others
