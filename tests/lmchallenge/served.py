"""Serve a demo model through the model API: `python served.py SLUG`, like `manage.py lmc serve --model SLUG`
without a site."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from gym.demo.catalogue import DEMO_MODELS, MODELS_DIR
from lmgym.lmchallenge.cli.serve import serve
from lmgym.lmchallenge.play.backend_players import player_for_backend
from lmgym.lmchallenge.play.player import Player
from lmgym.models.backends import load_backend


def player(slug: str, **options: int) -> Player:
    """Return a demo model as a player. Its kernels are fixed, as by a site's check: two processes that choose
    them by timing could choose differently, and the last digits would differ."""
    model = next(model for model in DEMO_MODELS if model.slug == slug)
    kernels = {"kernels": "stock"} if model.backend == "causal" else {}
    backend = load_backend(model.backend, model.config | kernels, model_dir=MODELS_DIR, hub_allowed=False)
    return player_for_backend(backend, options)


if __name__ == "__main__":
    serve(player(sys.argv[1]), sys.stdin.buffer, sys.stdout.buffer, sys.stderr)
