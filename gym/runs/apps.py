from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "gym.runs"
    label = "runs"

    def ready(self) -> None:
        from gym.runs import quotas  # noqa: F401  registers the quota of runs
        from gym.runs.read import scores  # noqa: F401  registers a signal receiver
        from gym.runs.work import (  # noqa: F401  register job handlers and signal receivers
            actors,
            deleted_runs,
            notices,
            preview,
            score_requests,
            start_tokens,
            uploads,
        )
