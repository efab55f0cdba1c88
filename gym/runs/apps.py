from django.apps import AppConfig


class RunsConfig(AppConfig):
    name = "gym.runs"
    label = "runs"

    def ready(self) -> None:
        from gym.runs import quotas  # noqa: F401  registers what runs count as
        from gym.runs.read import scores  # noqa: F401  listens for runs that are finished
        from gym.runs.work import (  # noqa: F401  they register their job handlers, and listen
            actors,
            deleted_runs,
            notices,
            preview,
            score_requests,
            start_tokens,
            uploads,
        )
