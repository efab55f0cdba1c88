"""The small corpus of the demo for typing games, and two quick games of the demo 5-gram on it."""

from __future__ import annotations

from collections.abc import Iterator

from gym.accounts.models import User
from gym.demo.catalogue import DATA_DIR, LICENCE
from gym.lmchallenge.core.games import GameOptions
from gym.lmchallenge.models import Corpus
from gym.lmchallenge.site import playing, services
from gym.sharing.models import Visibility
from models_registry.models import RegisteredModel

SLUG = "demo-sentences"
PLAYER = "demo-ngram"
GAMES = {"wp": "5-gram, next word", "ic": "5-gram, input correction"}


def create_corpus(owner: User) -> Iterator[str]:
    """Create it if it is not there; yields a line for it."""
    if Corpus.objects.filter(slug=SLUG).exists():
        return
    services.create_corpus(
        (DATA_DIR / "sentences.txt").read_bytes(),
        actor=owner,
        slug=SLUG,
        title="Sentences of the demo grammar",
        form="text",
        visibility=Visibility.PUBLIC,
        language="en",
        licence=LICENCE,
        description="Sixty sentences that the grammar of the demo models makes from another seed. For trying games "
        "out, not for rating models.",
    )
    yield f"corpus {SLUG}"


def queue_games(owner: User) -> None:
    """Start the games that are not there, once the model is ready."""
    corpus = Corpus.objects.filter(slug=SLUG, owner=owner).first()
    model = RegisteredModel.objects.filter(slug=PLAYER, owner=owner).first()
    if corpus is None or model is None or not model.is_ready:
        return
    for game, title in GAMES.items():
        if not corpus.games.filter(owner=owner, title=title).exists():
            options = GameOptions(game, predictions=True)
            wish = playing.Wish(f"model:{PLAYER}", options, title=title, visibility=Visibility.PUBLIC)
            playing.start_game(corpus, wish, actor=owner)
