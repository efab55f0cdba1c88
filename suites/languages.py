"""Languages as BCP 47 tags, and the names of common ones."""

from __future__ import annotations

import re

from django.conf.locale import LANG_INFO

TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_MORE = {
    "am": "Amharic", "ang": "Old English", "bo": "Tibetan", "ceb": "Cebuano", "cop": "Coptic", "fo": "Faroese",
    "fil": "Filipino", "grc": "Ancient Greek", "gsw": "Swiss German", "gu": "Gujarati", "gn": "Guarani", "ha": "Hausa",
    "haw": "Hawaiian", "ht": "Haitian Creole", "iu": "Inuktitut", "jv": "Javanese", "ku": "Kurdish", "la": "Latin",
    "lo": "Lao", "mi": "Māori", "mt": "Maltese", "nah": "Nahuatl", "or": "Odia", "ps": "Pashto", "qu": "Quechua",
    "rw": "Kinyarwanda", "sa": "Sanskrit", "sc": "Sardinian", "sd": "Sindhi", "si": "Sinhala", "sn": "Shona",
    "so": "Somali", "st": "Sesotho", "tn": "Tswana", "wo": "Wolof", "xh": "Xhosa", "yi": "Yiddish", "yo": "Yoruba",
    "yue": "Cantonese", "yua": "Yucatec Maya", "zh": "Chinese", "zu": "Zulu",
}  # fmt: skip


def normal(tag: str) -> str:
    """The tag in its usual case: zh-Hans, en-GB."""
    first, *rest = tag.split("-")
    return "-".join([first.lower(), *(_part(part) for part in rest)])


def _part(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.title()
    return part.upper() if len(part) == 2 or (len(part) == 3 and part.isdigit()) else part.lower()


LANGUAGES: dict[str, str] = dict(
    sorted(
        {
            **{normal(tag): info["name"] for tag, info in LANG_INFO.items() if "name" in info},
            **_MORE,
        }.items(),
        key=lambda pair: pair[1],
    )
)
"""Tag to English name, in the order of the names."""
_OWN_NAMES = {
    info["name_local"].casefold(): normal(tag) for tag, info in LANG_INFO.items() if "name_local" in info
}
_BY_NAME = _OWN_NAMES | {name.casefold(): tag for tag, name in LANGUAGES.items()}


def tag_of(text: str) -> str | None:
    """The tag of a language that is given by tag, by English name or by its own name; None where it is none of these,
    "" where nothing is given."""
    wanted = " ".join(text.split())
    if not wanted or wanted.casefold() == "not stated":
        return ""
    if found := _BY_NAME.get(wanted.casefold()):
        return found
    shown = re.fullmatch(r".*\((?P<tag>[A-Za-z0-9-]+)\)", wanted)
    tag = shown["tag"] if shown else wanted
    return normal(tag) if len(tag) <= 35 and TAG.fullmatch(tag) else None


_RIGHT_TO_LEFT = {
    "ar", "arc", "arz", "ary", "apc", "ckb", "dv", "fa", "glk", "he", "iw", "ji", "ks",
    "lrc", "mzn", "nqo", "pnb", "ps", "sd", "skr", "syr", "ug", "ur", "yi",
}  # fmt: skip
_RIGHT_TO_LEFT_SCRIPTS = {"Adlm", "Arab", "Aran", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"}


def is_right_to_left(tag: str) -> bool:
    """Whether the language is written from right to left; a script in the tag decides (ku-Arab, ar-Latn)."""
    language, *rest = normal(tag).split("-") if tag else [""]
    script = next((part for part in rest if len(part) == 4 and part.isalpha()), None)
    return script in _RIGHT_TO_LEFT_SCRIPTS if script else language in _RIGHT_TO_LEFT


def name_of(tag: str) -> str:
    """For reading: German (de). A tag without a known name stands alone."""
    if not tag:
        return "not stated"
    name = LANGUAGES.get(normal(tag)) or LANGUAGES.get(normal(tag).split("-")[0])
    return f"{name} ({tag})" if name else tag
