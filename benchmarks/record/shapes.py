"""An answer as lines that can be compared: HTML as text, fields and links, JSON sorted, tables as rows, archives as
names and hashes, drawings as what they say. Keys, nonces and seconds have placeholders."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator
from html.parser import HTMLParser
from typing import Any

INLINE = frozenset(
    {
        "a",
        "abbr",
        "b",
        "bdi",
        "cite",
        "code",
        "del",
        "em",
        "i",
        "ins",
        "kbd",
        "mark",
        "q",
        "s",
        "samp",
        "small",
        "span",
    }
    | {"strong", "sub", "sup", "time", "tspan", "u", "var", "wbr", "img"}
)
CELLS = frozenset({"td", "th"})
UNSEEN = frozenset({"script", "style"})
ADDRESSES = frozenset({"href", "src", "hx-get", "hx-post", "hx-put", "hx-patch", "hx-delete"})

UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
KEY = re.compile(rf"\b(?:{UUID}|[0-9a-f]{{32}}|[0-9a-f]{{20}})\b")
TIME = re.compile(r"(?<=\d\d:\d\d):\d\d(?:\.\d+)?(?=Z|\+00:00|\b)")
LONG_NUMBER = re.compile(r"(?<![\w.])\d+\.\d{4,}(?:e-?\d+)?")
"""Rounded before it is hashed: the last digits of the transformer's numbers may differ."""
PATTERNS = (
    (re.compile(r"lmg_[\w-]{20,}"), "<token>"),
    (re.compile(r"(?<=cursor=)[^&\"\s]+"), "<cursor>"),
    (re.compile(r"(?<=[?&]next=)[^&\"\s]*"), "<here>"),
)


class Scrubber:
    """Puts placeholders for what is chance. `names` has a stable name for each key that the record knows; other keys
    are numbered by their first place in the answer."""

    def __init__(self, words: dict[str, str]) -> None:
        self.names: dict[str, str] = {}
        self.words = words  # folders, the name of the machine

    def of_answer(self) -> _Scrubbing:
        return _Scrubbing(self)


class _Scrubbing:
    def __init__(self, scrubber: Scrubber) -> None:
        self.scrubber = scrubber
        self.seen: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        for word, name in self.scrubber.words.items():
            text = text.replace(word, name)
        for pattern, name in PATTERNS:
            text = pattern.sub(name, text)
        return KEY.sub(self._name, TIME.sub("", text))

    def _name(self, found: re.Match[str]) -> str:
        key = found[0]
        if key in self.scrubber.names:
            return f"<{self.scrubber.names[key]}>"
        return self.seen.setdefault(key, f"<key {len(self.seen) + 1}>")


class Page(HTMLParser):
    """The text that people read, line by line, the cells of a row in one line; fields of forms; links."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.fields: list[str] = []
        self.links: list[str] = []
        self.line = ""
        self.unseen = 0
        self.row = False
        self.select: str | None = None
        self.feed(html)
        self.close()
        self._end_line()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag in UNSEEN:
            self.unseen += 1
        self._break(tag, starts=True)
        self._note_links(tag, given)
        self._note_fields(tag, given)

    def handle_endtag(self, tag: str) -> None:
        if tag in UNSEEN:
            self.unseen = max(0, self.unseen - 1)
        if tag == "select":
            self.select = None
        self._break(tag, starts=False)

    def handle_data(self, data: str) -> None:
        if not self.unseen:
            self.line += data

    def _break(self, tag: str, *, starts: bool) -> None:
        if tag == "tr":
            self._end_line()
            self.row = starts
        elif self.row and tag in CELLS:
            self.line += " | " if starts else ""
        elif tag not in INLINE:
            if self.row:
                self.line += " "
            else:
                self._end_line()

    def _end_line(self) -> None:
        if line := " ".join(self.line.split()):
            self.text.append(line)
        self.line = ""

    def _note_links(self, tag: str, given: dict[str, str]) -> None:
        for name in given:
            if name in ADDRESSES or (name.startswith("data-") and given[name].startswith("/")):
                link = f"{'' if name == 'href' else name + ' '}{given[name]}"
                if link not in self.links and not given[name].startswith("/static/"):
                    self.links.append(link)

    def _note_fields(self, tag: str, given: dict[str, str]) -> None:
        if tag == "form":
            self.fields.append(
                f"form {given.get('method', 'get').lower()} {given.get('action', '')}".rstrip()
            )
        elif tag == "option":
            chosen = " selected" if "selected" in given else ""
            self.fields.append(f"    option {given.get('value', '')!r}{chosen}")
        elif tag in ("input", "textarea", "select", "button") and "name" in given:
            value = given.get("value", "")
            if given["name"] == "csrfmiddlewaretoken":
                value = "<csrf>"
            states = [state for state in ("checked", "disabled", "readonly", "required") if state in given]
            kind = given.get("type", "") if tag in ("input", "button") else tag
            words = [f"  {given['name']}", kind, repr(value) if value else "", *states]
            self.fields.append(" ".join(word for word in words if word))


def shape(body: bytes, kind: str, scrub: _Scrubbing, name: str = "") -> Iterator[str]:
    """The lines of a body. `kind` is its content type."""
    media = kind.split(";")[0].strip()
    if not body:
        return
    if body[:4] == b"PAR1":
        yield from _parquet(body, scrub)
    elif body[:2] == b"PK":
        yield from _zip(body, scrub)
    elif body[:2] == b"\x1f\x8b":
        yield "# gzip of"
        yield from shape(gzip.decompress(body), "text/plain", scrub)
    elif body[:8] == b"\x89PNG\r\n\x1a\n":
        yield f"PNG {int.from_bytes(body[16:20], 'big')} x {int.from_bytes(body[20:24], 'big')}"
    elif body[:5] == b"%PDF-":
        boxes = re.findall(rb"/MediaBox\s*\[[^\]]*\]", body)
        yield f"PDF {b' '.join(boxes).decode()}"
    else:
        yield from _text(body.decode("utf-8-sig", errors="backslashreplace"), media, scrub)


def _text(text: str, media: str, scrub: _Scrubbing) -> Iterator[str]:
    if media == "text/html":
        page = Page(text)
        for title, lines in (("text", page.text), ("fields", page.fields), ("links", page.links)):
            yield f"== {title}"
            yield from map(scrub, lines)
    elif media == "image/svg+xml":
        yield from map(scrub, Page(text).text)
        counts: dict[str, int] = {}
        for tag in re.findall(r"<([a-z]+)", text):
            counts[tag] = counts.get(tag, 0) + 1
        yield "# " + ", ".join(f"{tag} {count}" for tag, count in sorted(counts.items()))
    elif media.endswith("json") and (value := _json(text)) is not None:
        yield from json.dumps(
            scrub_values(value, scrub), indent=1, sort_keys=True, ensure_ascii=False
        ).splitlines()
    else:
        yield from map(scrub, text.splitlines())


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:  # lines of JSON
        return None


def scrub_values(value: Any, scrub: _Scrubbing) -> Any:
    if isinstance(value, dict):
        return {scrub(key): scrub_values(value[key], scrub) for key in sorted(value)}
    if isinstance(value, list):
        return [scrub_values(entry, scrub) for entry in value]
    return scrub(value) if isinstance(value, str) else value


def _parquet(body: bytes, scrub: _Scrubbing) -> Iterator[str]:
    from pyarrow import parquet

    table = parquet.read_table(io.BytesIO(body))
    yield "# " + ", ".join(f"{field.name} {field.type}" for field in table.schema)
    for row in table.to_pylist():
        yield scrub(json.dumps(row, default=str, ensure_ascii=False))


def _zip(body: bytes, scrub: _Scrubbing) -> Iterator[str]:
    with zipfile.ZipFile(io.BytesIO(body)) as archive:
        for name in sorted(archive.namelist()):
            content = "\n".join(shape(archive.read(name), "", scrub))
            content = LONG_NUMBER.sub(lambda found: f"{float(found[0]):.3f}", content)
            yield f"{scrub(name)} {hashlib.sha256(content.encode()).hexdigest()[:16]}"
