"""Client for a site's REST API. Needs only the standard library, except for `Client.table`.

    from lmgym.client import Client

    gym = Client("https://gym.example.org", token="lmg_…")
    run = gym.wait(gym.start_run("agreement_orc", "demo-gpt2").id)
    for prediction in run.predictions:
        print(prediction.formula, prediction.rate)

Commands of `lmgym` with the option `--site` use this client. See docs/api.md.
"""

from .client import Client
from .transport import ApiError, NotReached
from .values import (
    AgentCase,
    AgentRun,
    Game,
    Model,
    Prediction,
    Run,
    ScoredSentence,
    ScoredToken,
    Submission,
    Suite,
)

__all__ = [
    "AgentCase",
    "AgentRun",
    "ApiError",
    "Client",
    "Game",
    "Model",
    "NotReached",
    "Prediction",
    "Run",
    "ScoredSentence",
    "ScoredToken",
    "Submission",
    "Suite",
]
