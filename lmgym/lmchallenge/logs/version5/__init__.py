"""Logs and statistics of LM Challenge 5, with one token or character per line. The games are in `play.version5`."""

GAME_WORDS = {
    "wc": "word completion",
    "we": "word entropy",
    "ce": "character entropy",
    "wr": "word reranking",
}
