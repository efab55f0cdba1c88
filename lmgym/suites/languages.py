"""Languages as BCP 47 tags, with names of common ones."""

from __future__ import annotations

import re

TAG = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{1,8})*")
_NAMES = {
    "af": ("Afrikaans", "Afrikaans"), "ar": ("Arabic", "العربيّة"), "ar-DZ": ("Algerian Arabic", "العربية الجزائرية"),
    "ast": ("Asturian", "asturianu"), "az": ("Azerbaijani", "Azərbaycanca"), "be": ("Belarusian", "беларуская"),
    "bg": ("Bulgarian", "български"), "bn": ("Bengali", "বাংলা"), "br": ("Breton", "brezhoneg"),
    "bs": ("Bosnian", "bosanski"), "ca": ("Catalan", "català"), "ckb": ("Central Kurdish (Sorani)", "کوردی"),
    "cs": ("Czech", "česky"), "cy": ("Welsh", "Cymraeg"), "da": ("Danish", "dansk"), "de": ("German", "Deutsch"),
    "dsb": ("Lower Sorbian", "dolnoserbski"), "el": ("Greek", "Ελληνικά"), "en": ("English", "English"),
    "en-AU": ("Australian English", "Australian English"), "en-GB": ("British English", "British English"),
    "eo": ("Esperanto", "Esperanto"), "es": ("Spanish", "español"),
    "es-AR": ("Argentinian Spanish", "español de Argentina"), "es-CO": ("Colombian Spanish", "español de Colombia"),
    "es-MX": ("Mexican Spanish", "español de Mexico"), "es-NI": ("Nicaraguan Spanish", "español de Nicaragua"),
    "es-VE": ("Venezuelan Spanish", "español de Venezuela"), "et": ("Estonian", "eesti"), "eu": ("Basque", "Basque"),
    "fa": ("Persian", "فارسی"), "fi": ("Finnish", "suomi"), "fr": ("French", "français"), "fy": ("Frisian", "frysk"),
    "ga": ("Irish", "Gaeilge"), "gd": ("Scottish Gaelic", "Gàidhlig"), "gl": ("Galician", "galego"),
    "he": ("Hebrew", "עברית"), "hi": ("Hindi", "हिंदी"), "hr": ("Croatian", "Hrvatski"),
    "hsb": ("Upper Sorbian", "hornjoserbsce"), "hu": ("Hungarian", "Magyar"), "hy": ("Armenian", "հայերեն"),
    "ia": ("Interlingua", "Interlingua"), "io": ("Ido", "ido"), "id": ("Indonesian", "Bahasa Indonesia"),
    "ig": ("Igbo", "Asụsụ Ìgbò"), "is": ("Icelandic", "Íslenska"), "it": ("Italian", "italiano"),
    "ja": ("Japanese", "日本語"), "ka": ("Georgian", "ქართული"), "kab": ("Kabyle", "taqbaylit"),
    "kk": ("Kazakh", "Қазақ"), "km": ("Khmer", "Khmer"), "kn": ("Kannada", "Kannada"), "ko": ("Korean", "한국어"),
    "ky": ("Kyrgyz", "Кыргызча"), "lb": ("Luxembourgish", "Lëtzebuergesch"), "lt": ("Lithuanian", "Lietuviškai"),
    "lv": ("Latvian", "latviešu"), "mk": ("Macedonian", "Македонски"), "ml": ("Malayalam", "മലയാളം"),
    "mn": ("Mongolian", "Mongolian"), "mr": ("Marathi", "मराठी"), "ms": ("Malay", "Bahasa Melayu"),
    "my": ("Burmese", "မြန်မာဘာသာ"), "nb": ("Norwegian Bokmal", "norsk (bokmål)"), "ne": ("Nepali", "नेपाली"),
    "nl": ("Dutch", "Nederlands"), "nn": ("Norwegian Nynorsk", "norsk (nynorsk)"), "no": ("Norwegian", "norsk"),
    "os": ("Ossetic", "Ирон"), "pa": ("Punjabi", "Punjabi"), "pl": ("Polish", "polski"),
    "pt": ("Portuguese", "Português"), "pt-BR": ("Brazilian Portuguese", "Português Brasileiro"),
    "ro": ("Romanian", "Română"), "ru": ("Russian", "Русский"), "sk": ("Slovak", "slovensky"),
    "sl": ("Slovenian", "Slovenščina"), "sq": ("Albanian", "shqip"), "sr": ("Serbian", "српски"),
    "sr-Latn": ("Serbian Latin", "srpski (latinica)"), "sv": ("Swedish", "svenska"), "sw": ("Swahili", "Kiswahili"),
    "ta": ("Tamil", "தமிழ்"), "te": ("Telugu", "తెలుగు"), "tg": ("Tajik", "тоҷикӣ"), "th": ("Thai", "ภาษาไทย"),
    "tk": ("Turkmen", "Türkmençe"), "tr": ("Turkish", "Türkçe"), "tt": ("Tatar", "Татарча"),
    "udm": ("Udmurt", "Удмурт"), "ug": ("Uyghur", "ئۇيغۇرچە"), "uk": ("Ukrainian", "Українська"),
    "ur": ("Urdu", "اردو"), "uz": ("Uzbek", "oʻzbek tili"), "vi": ("Vietnamese", "Tiếng Việt"),
    "zh-Hans": ("Simplified Chinese", "简体中文"), "zh-Hant": ("Traditional Chinese", "繁體中文"),
    "am": ("Amharic", ""), "ang": ("Old English", ""), "bo": ("Tibetan", ""), "ceb": ("Cebuano", ""),
    "cop": ("Coptic", ""),
    "fo": ("Faroese", ""), "fil": ("Filipino", ""), "grc": ("Ancient Greek", ""), "gsw": ("Swiss German", ""),
    "gu": ("Gujarati", ""), "gn": ("Guarani", ""), "ha": ("Hausa", ""), "haw": ("Hawaiian", ""),
    "ht": ("Haitian Creole", ""), "iu": ("Inuktitut", ""), "jv": ("Javanese", ""), "ku": ("Kurdish", ""),
    "la": ("Latin", ""), "lo": ("Lao", ""), "mi": ("Māori", ""), "mt": ("Maltese", ""), "nah": ("Nahuatl", ""),
    "or": ("Odia", ""), "ps": ("Pashto", ""), "qu": ("Quechua", ""), "rw": ("Kinyarwanda", ""),
    "sa": ("Sanskrit", ""), "sc": ("Sardinian", ""), "sd": ("Sindhi", ""), "si": ("Sinhala", ""), "sn": ("Shona", ""),
    "so": ("Somali", ""), "st": ("Sesotho", ""), "tn": ("Tswana", ""), "wo": ("Wolof", ""), "xh": ("Xhosa", ""),
    "yi": ("Yiddish", ""), "yo": ("Yoruba", ""), "yue": ("Cantonese", ""), "yua": ("Yucatec Maya", ""),
    "zh": ("Chinese", ""), "zu": ("Zulu", ""),
}  # fmt: skip
"""Tag to English name and native name ("" if unknown)."""


def normal(tag: str) -> str:
    """Put a tag in its usual case: zh-Hans, en-GB."""
    first, *rest = tag.split("-")
    return "-".join([first.lower(), *(_part(part) for part in rest)])


def _part(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.title()
    return part.upper() if len(part) == 2 or (len(part) == 3 and part.isdigit()) else part.lower()


LANGUAGES: dict[str, str] = dict(
    sorted(((tag, name) for tag, (name, _) in _NAMES.items()), key=lambda pair: pair[1])
)
"""Tag to English name, ordered by name."""
_NATIVE_NAMES = {native.casefold(): tag for tag, (_, native) in _NAMES.items() if native}
_BY_NAME = _NATIVE_NAMES | {name.casefold(): tag for tag, name in LANGUAGES.items()}


def tag_of(text: str) -> str | None:
    """Return the tag of a language given by tag, English name or native name.

    Returns:
        The tag; "" for an empty text or "not stated", None for an unknown language.
    """
    language = " ".join(text.split())
    if not language or language.casefold() == "not stated":
        return ""
    if known_tag := _BY_NAME.get(language.casefold()):
        return known_tag
    name_with_tag = re.fullmatch(r".*\((?P<tag>[A-Za-z0-9-]+)\)", language)
    tag = name_with_tag["tag"] if name_with_tag else language
    return normal(tag) if len(tag) <= 35 and TAG.fullmatch(tag) else None


_RIGHT_TO_LEFT = {
    "ar", "arc", "arz", "ary", "apc", "ckb", "dv", "fa", "glk", "he", "iw", "ji", "ks",
    "lrc", "mzn", "nqo", "pnb", "ps", "sd", "skr", "syr", "ug", "ur", "yi",
}  # fmt: skip
_RIGHT_TO_LEFT_SCRIPTS = {"Adlm", "Arab", "Aran", "Hebr", "Mand", "Nkoo", "Rohg", "Samr", "Syrc", "Thaa"}


def is_right_to_left(tag: str) -> bool:
    """Return whether a language is written from right to left; a script in the tag decides (ku-Arab, ar-Latn)."""
    language, *rest = normal(tag).split("-") if tag else [""]
    script = next((part for part in rest if len(part) == 4 and part.isalpha()), None)
    return script in _RIGHT_TO_LEFT_SCRIPTS if script else language in _RIGHT_TO_LEFT


def name_of(tag: str) -> str:
    """Format a tag for display: "German (de)", just the tag if its name is unknown, or "not stated" if it is empty."""
    if not tag:
        return "not stated"
    name = LANGUAGES.get(normal(tag)) or LANGUAGES.get(normal(tag).split("-")[0])
    return f"{name} ({tag})" if name else tag
