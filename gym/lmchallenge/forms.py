"""Forms for corpora and games."""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.forms.boundfield import BoundWidget

from gym.accounts.models import AnyUser
from gym.lmchallenge.models import Corpus, Game
from gym.lmchallenge.playing import MAX_LOGS, PLAYER_OPTIONS, GameRequest, Option, options_of, players_for
from gym.lmchallenge.services import MAX_BYTES
from gym.sharing.forms import AddressedForm
from gym.sharing.models import Visibility
from gym.uploads import MultipleFilesField, SingleFileField, read_upload
from lmgym.lmchallenge.errors import LmcError
from lmgym.lmchallenge.logs.version5 import GAME_WORDS as GAME_WORDS_5
from lmgym.lmchallenge.play import typing_errors
from lmgym.lmchallenge.play.games import GAME_WORDS, SELECT_FROM

FORMATS = [("auto", "detected from the first line"), ("text", "plain text"), ("json", "JSON lines")]
MAX_WORDS_BYTES = 5_000_000


GROUPS = {
    "process": ("Programs", "{}"),
    "adaptive": ("Built in", "{} (needs training)"),
}
"""Kind of player -> (heading of its group, format of a player's label). All other kinds are models of this
site."""
KINDS = {"causal": "causal models", "ngram": "n-gram models", "adaptive": "adaptive n-gram"}


def _options() -> dict[str, tuple[str, Option]]:
    """Return the player options by name, as (kinds of players that accept the option, option)."""
    options: dict[str, tuple[str, Option]] = {}
    for kind, known in PLAYER_OPTIONS.items():
        for name, option in known.items():
            takers = f"{options[name][0]}, {KINDS[kind]}" if name in options else KINDS[kind].capitalize()
            options[name] = (takers, option)
    return options


OPTIONS = _options()


class AboutCorpusForm(AddressedForm):
    class Meta:
        model = Corpus
        fields = ["title", "visibility", "language", "licence", "description"]
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}
        labels = {"visibility": "Visibility"}

    def __init__(self, *args: Any, may_manage: bool = True, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if not may_manage:
            del self.fields["visibility"]

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.fields}


class CorpusFileForm(forms.Form):
    file = SingleFileField(
        required=False,
        label="File",
        help_text="Plain text, or JSON lines with text, userId and timestamp. UTF-8, at most 20 MB, 200,000 lines "
        "and 1 MB per line, optionally compressed with gzip.",
        error_messages={"empty": "The file is empty."},
    )
    pasted = forms.CharField(
        required=False,
        strip=False,
        label="Or paste the text",
        help_text="Plain text or JSON lines.",
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false"}),
    )
    form = forms.ChoiceField(choices=FORMATS, initial="auto", label="Format")

    def clean(self) -> dict[str, Any]:
        """Set `data` to the uploaded or pasted bytes, and `name` to their name in messages."""
        super().clean()
        cleaned = self.cleaned_data
        upload, pasted = cleaned.get("file"), cleaned.get("pasted", "")
        if upload and pasted:
            self.add_error("pasted", "Choose either a file or pasted text, not both.")
        elif upload:
            try:
                cleaned |= {"data": read_upload(upload, MAX_BYTES), "name": upload.name}
            except ValidationError as error:
                self.add_error("file", error)
        elif pasted:
            # Browsers send line endings as carriage return and newline.
            cleaned |= {"data": pasted.replace("\r\n", "\n").encode(), "name": "the pasted text"}
        elif not self.errors:
            self.add_error("file", "Choose a file, or paste the text below.")
        return cleaned


class GameForm(forms.Form):
    """Form that starts every selected game with every selected player.

    It has the options of all games. Options of games that are not selected are ignored and
    hidden by the stylesheet.
    """

    game = forms.MultipleChoiceField(
        choices=[(key, f"{words} ({key})") for key, words in (GAME_WORDS | GAME_WORDS_5).items()],
        label="Games",
        initial=["wp"],
        widget=forms.CheckboxSelectMultiple(attrs={"class": "form-check-input"}),
    )
    player = forms.MultipleChoiceField(label="Players", widget=forms.CheckboxSelectMultiple)
    title = forms.CharField(
        max_length=150,
        required=False,
        label="Title",
        help_text="Default: player and game. They are also appended if you start several games.",
    )
    visibility = forms.ChoiceField(
        choices=Visibility.choices, initial=Visibility.PRIVATE, label="Visibility",
        help_text="Everyone who can see the game can see the text in its log.",
    )  # fmt: skip
    train = forms.BooleanField(
        required=False,
        label="Train",
        help_text="Clear the model for each user, and learn each line after it is played. Applies to programs and the "
        "adaptive n-gram; models of this site do not learn.",
    )
    targets = forms.BooleanField(
        required=False,
        initial=True,
        label="Words in the log",
        help_text="Needed for the coloured text.",
    )
    predictions = forms.BooleanField(
        required=False,
        initial=True,
        label="All predictions in the log",
        help_text="Needed to see the predictions for each word.",
    )
    transcript = forms.BooleanField(
        required=False,
        label="Keep a transcript",
        help_text="For programs: the last 300 kB of commands and replies.",
    )
    select_from = forms.IntegerField(
        required=False, initial=SELECT_FROM, min_value=1, max_value=100, label="Predictions considered"
    )
    next_word_only = forms.BooleanField(
        required=False,
        label="Predict whole words only",
        help_text="Predict before each word, not before each letter. This is faster but gives no completions.",
    )
    words = SingleFileField(
        required=False,
        label="Vocabulary",
        help_text="One word per line, at most 5 MB. Default: the words of the corpus, most frequent first.",
    )
    num_candidates = forms.IntegerField(
        required=False,
        initial=typing_errors.CANDIDATES,
        min_value=2,
        max_value=1_000,
        label="Candidates per word",
    )
    seed = forms.IntegerField(
        required=False,
        initial=typing_errors.SEED,
        min_value=1,
        max_value=2**31 - 1,
        label="Seed of the typing errors",
    )
    p_anykey = forms.FloatField(
        required=False,
        initial=typing_errors.P_ANYKEY,
        min_value=0.0001,
        max_value=0.9999,
        label="Error probability",
    )
    error_chars = forms.CharField(
        required=False,
        initial=typing_errors.ERROR_CHARS,
        max_length=500,
        label="Error characters",
        strip=False,
    )

    def __init__(self, *args: Any, user: AnyUser, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.players = {row.player: row for row in players_for(user)}
        groups: dict[str, list[tuple[str, str]]] = {}
        for player, row in self.players.items():
            group, words = GROUPS.get(row.kind, ("Models of this site", "{}"))
            groups.setdefault(group, []).append((player, words.format(row.words)))
        player_field = self.fields["player"]
        assert isinstance(player_field, forms.ChoiceField)
        player_field.choices = list(groups.items())
        for name, (takers, option) in OPTIONS.items():
            self.fields[f"player_{name}"] = forms.IntegerField(
                required=False,
                min_value=option.low,
                max_value=option.high,
                label=option.words.capitalize(),
                help_text=f"{takers}. Default: {option.default}.",
            )

    @property
    def boxes_of_4(self) -> list[BoundWidget]:
        """Checkboxes for LM Challenge 4 games."""
        return [box for box in self["game"] if box.data["value"] in GAME_WORDS]

    @property
    def boxes_of_5(self) -> list[BoundWidget]:
        """Checkboxes for LM Challenge 5 games."""
        return [box for box in self["game"] if box.data["value"] in GAME_WORDS_5]

    @property
    def has_ticked_5(self) -> bool:
        """Whether a game of LM Challenge 5 is selected."""
        return any(box.data["selected"] for box in self.boxes_of_5)

    @property
    def player_fields(self) -> list[forms.BoundField]:
        """Player options. Each player ignores options that it does not accept."""
        return [self[f"player_{name}"] for name in OPTIONS]

    def clean(self) -> dict[str, Any]:
        super().clean()
        cleaned = self.cleaned_data
        for name, field in self.fields.items():
            if cleaned.get(name) is None and field.initial is not None and name not in self.errors:
                cleaned[name] = field.initial
        cleaned["error_chars"] = cleaned.get("error_chars") or typing_errors.ERROR_CHARS
        if upload := cleaned.get("words"):
            try:
                cleaned["words_bytes"] = read_upload(upload, MAX_WORDS_BYTES)
            except ValidationError as error:
                self.add_error("words", error)
        return cleaned

    def game_requests(self) -> list[GameRequest]:
        """Return one request per game and player. Raises ValidationError."""
        cleaned = self.cleaned_data
        several = len(cleaned["player"]) * len(cleaned["game"]) > 1
        return [
            self._game_request(game, player, several)
            for player in cleaned["player"]
            for game in cleaned["game"]
        ]

    def _game_request(self, game: str, player: str, several: bool) -> GameRequest:
        cleaned, about = self.cleaned_data, self.players[player]
        train = cleaned["train"] and (about.learns or len(cleaned["player"]) == 1)
        try:
            options = options_of({**cleaned, "game": game, "train": train})
        except LmcError as error:
            raise ValidationError(str(error)) from error
        player_options = {
            name: value for name in about.options if (value := cleaned.get(f"player_{name}")) is not None
        }
        title = cleaned["title"]
        return GameRequest(
            player,
            options,
            cleaned.get("words_bytes", b""),
            f"{title}, {about.name}, {game}" if title and several else title,
            cleaned["visibility"],
            player_options,
            cleaned["transcript"] and player.startswith("process:"),
        )


class AboutGameForm(forms.ModelForm):  # type: ignore[type-arg]  # Django 5.2 cannot subscript it at run time
    class Meta:
        model = Game
        fields = ["title", "visibility", "description"]
        widgets = {"description": forms.Textarea(attrs={"rows": 3})}
        labels = {"visibility": "Visibility"}

    def values(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in self.Meta.fields}


class LogForm(AboutGameForm):
    file = MultipleFilesField(
        label="Logs",
        help_text="JSON lines of one game of LM Challenge 4 (wp, tc, ic) or 5 (wc, we, ce, wr), optionally compressed "
        f"with gzip. Up to {MAX_LOGS} files, each at most 50 MB; uncompressed 200 MB, 500,000 lines, 20 MB per line.",
        error_messages={"empty": "The file is empty."},
    )
    title = forms.CharField(
        max_length=150,
        required=False,
        help_text="Default: the name of the file. It is also appended if you upload several files.",
    )
    corpus = forms.ModelChoiceField(
        queryset=Corpus.objects.none(),
        to_field_name="slug",
        required=False,
        empty_label="not on this site",
        help_text="The text that was played, or one that contains its lines. The log is compared with this corpus.",
    )

    def __init__(self, *args: Any, corpora: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field = self.fields["corpus"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = corpora
