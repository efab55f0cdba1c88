"""Client methods for LM Challenge: logs, games, statistics, comparisons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from .connection import Connection
from .values import Game


class Games(Connection):
    def upload_log(self, name: str, data: bytes, **card: str) -> Game:
        """Upload the log of an LM Challenge 4 or 5 game played elsewhere, optionally gzipped. `card`: title,
        visibility, description, corpus."""
        return Game.of(self.transport.send("POST", "lmc/logs/", body=card, files=[(name, data)]).json())

    def start_game(
        self,
        corpus: str,
        game: str,
        player: str,
        *,
        player_options: Mapping[str, int] | None = None,
        **options: Any,
    ) -> Game:
        """Queue a game.

        Args:
            game: wp, tc or ic of LM Challenge 4; wc, we, ce or wr of 5.
            player: model:SLUG, process:NAME or adaptive; `GET lmc/players/` lists them.
            options: title, visibility, train, targets and other fields of `POST lmc/games/`.
        """
        body = {"corpus": corpus, "game": game, "player": player, **options}
        body |= {"player_options": dict(player_options)} if player_options else {}
        return Game.of(self.post("lmc/games/", body))

    def game(self, key: str) -> Game:
        return Game.of(self.get(f"lmc/games/{quote(key)}/"))

    def wait_for_game(
        self, key: str, *, on_update: Callable[[Game], None] | None = None, seconds: float = 3600.0
    ) -> Game:
        """Poll until the game has ended and its statistics are ready; `on_update` is called with each response.

        Raises TimeoutError.
        """
        return self._ended(self.game, key, on_update, seconds)

    def statistics(self, key: str, **query: Any) -> dict[str, Any]:
        """Read a game's statistics, named as in the reference implementation. `query`: filter, partition and others."""
        return dict(self.get(f"lmc/games/{quote(key)}/statistics/", **query))

    def compare_games(self, first: str, *second: str, **query: Any) -> dict[str, Any]:
        """Compare each second game with the first, on the same text. `query`: filter, cluster, metric."""
        return dict(self.get("lmc/compare/", first=first, second=list(second), **query))
