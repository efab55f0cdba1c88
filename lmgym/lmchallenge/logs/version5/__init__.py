"""Logs and statistics of LM Challenge 5. One line of a log is one token or character; the games are in
`play.version5`."""

GAME_WORDS = {
    "wc": "word completion",
    "we": "word entropy",
    "ce": "character entropy",
    "wr": "word reranking",
}
