"""`serve`: serve a model over the text protocol of LM Challenge's model programs."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable
from typing import IO, TYPE_CHECKING, TextIO

from lmgym.lmchallenge.play import players
from lmgym.lmchallenge.play.player import Player, Request

if TYPE_CHECKING:
    from lmgym.lmchallenge.cli.streams import ModelPlayer, Streams


def serve_model(options: argparse.Namespace, streams: Streams, model: ModelPlayer) -> int:
    """Run `serve`."""
    if options.model == "adaptive":
        player = players.adaptive(options.options)
    else:
        player = model(options.model, options.options)
    try:
        serve(player, streams.source, streams.out, streams.err)
    finally:
        player.close()
    return 0


_BREAKS = str.maketrans({"\t": " ", "\n": " ", "\r": " "})


def serve(player: Player, commands: Iterable[bytes], out: IO[bytes], err: TextIO) -> None:
    """Answer commands until the input ends.

    Unknown commands are reported on `err` and get no reply. Bytes that are not UTF-8 are read as U+FFFD. Predictions
    that the protocol cannot represent (with tabs or line breaks, or with NaN as the score) are omitted.
    """
    for number, raw in enumerate(commands, 1):
        fields = raw.decode("utf-8", "replace").rstrip("\n").split("\t")
        if fields[0] == "predict":
            context = fields[1] if len(fields) > 1 else ""
            (reply,) = player.predict([Request(context, fields[2:] or None)])
            out.write(reply_line(reply))
            out.flush()
        elif fields[0] == "train":
            # The protocol forbids tabs inside a text, but some senders do not replace them.
            player.train("\t".join(fields[1:]))
        elif fields[0] == "clear":
            player.clear()
        else:
            err.write(f"line {number}: unknown command {fields[0][:40]!r}\n")
            err.flush()


def reply_line(reply: Iterable[tuple[str, float]]) -> bytes:
    """Format a reply: alternating texts and scores, separated by tabs. Parsing a score gives the same float.

    Predictions with tabs, line breaks or a NaN score are omitted.
    """
    fields = [
        field
        for text, score in reply
        if text.translate(_BREAKS) == text and not math.isnan(score)
        for field in (text, repr(float(score)))
    ]
    return ("\t".join(fields) + "\n").encode("utf-8", "replace")
