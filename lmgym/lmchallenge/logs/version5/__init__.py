"""LM Challenge 5: its games, logs and statistics. One line of a log is one token or character."""

GAME_WORDS = {
    "wc": "word completion",
    "we": "word entropy",
    "ce": "character entropy",
    "wr": "word reranking",
}
