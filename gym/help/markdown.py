"""Render a Markdown file of docs/ as a page with title, sections and body. HTML in it is escaped."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

from markdown_it import MarkdownIt
from markdown_it.token import Token

from lmgym.charts.svg import Markup

_OTHER_PAGE = re.compile(r"([\w-]+\.(?:md|ipynb))(#.*)?")
_ELSEWHERE = re.compile(r"https?://|#")


@dataclass(frozen=True, slots=True)
class Page:
    title: str
    sections: list[tuple[str, str]]
    """Id and text of each second-level heading."""
    body: Markup
    """HTML of the page without its title."""


def page(text: str, titles: Mapping[str, str], address_of: Callable[[str], str]) -> Page:
    """Render a page. Links to files in `titles` are replaced by their address; links to other files become plain
    text."""
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = reader.parse(text)
    title, sections, seen = "", [], Counter[str]()
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            words = _words(tokens[place + 1])
            token.attrSet("id", anchor := _anchor(words, seen))
            if token.tag == "h1" and not title:
                title = words
            elif token.tag == "h2":
                sections.append((anchor, words))
        elif token.type in {"th_open", "td_open"}:
            style = str(token.attrs.pop("style", ""))  # the Content-Security-Policy forbids style attributes
            if style.endswith("right"):
                token.attrSet("class", "num")
            if token.type == "th_open" and _words(tokens[place + 1]):
                token.attrSet("scope", "col")
            elif token.type == "th_open":  # an empty corner cell is not a header
                token.tag = tokens[place + 2].tag = "td"
        elif token.type == "inline":
            token.children = _linked(token.children or [], titles, address_of)
    if tokens and tokens[0].tag == "h1":
        tokens = tokens[3:]
    for name, rule in _RULES.items():
        reader.add_render_rule(name, rule)
    return Page(title, sections, Markup(reader.renderer.render(tokens, reader.options, {})))


def _words(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


def _anchor(words: str, seen: Counter[str]) -> str:
    """Return the heading id that GitHub would generate, so that links in docs/ work there and here."""
    anchor = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
    seen[anchor] += 1
    return anchor if seen[anchor] == 1 else f"{anchor}-{seen[anchor] - 1}"


def _linked(
    children: list[Token], titles: Mapping[str, str], address_of: Callable[[str], str]
) -> list[Token]:
    kept, is_open = [], False
    for place, token in enumerate(children):
        if token.type == "link_open":
            address, words = str(token.attrs["href"]), children[place + 1]
            other = _OTHER_PAGE.fullmatch(address)
            is_page = other is not None and other[1] in titles
            if other and is_page:
                token.attrSet("href", address_of(other[1]) + (other[2] or ""))
                if words.content == other[1]:
                    words.content = titles[other[1]]
            is_open = is_page or bool(_ELSEWHERE.match(address))
        if token.type in {"link_open", "link_close"} and not is_open:
            continue
        kept.append(token)
    return kept


def _table_open(*_: object) -> str:
    return '<div class="table-box"><table class="data">\n'


def _table_close(*_: object) -> str:
    return "</table></div>\n"


def _code(_renderer: object, tokens: list[Token], place: int, *_: object) -> str:
    return f'<div class="codeblock"><pre><code>{escape(tokens[place].content)}</code></pre></div>\n'


_RULES: dict[str, Callable[..., str]] = {
    "table_open": _table_open,
    "table_close": _table_close,
    "fence": _code,
    "code_block": _code,
}
