"""The small ProPara answer set of the demo, with its two made-up submissions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gym import propara
from gym.accounts.models import User
from gym.propara.models import AnswerSet
from gym.propara.site import services
from gym.sharing.models import Visibility

SLUG = "everyday-processes"
DATA = Path(propara.__file__).parent / "data"
SUBMISSIONS = {
    "careful": "Mostly right; some steps late, some places unknown. Made up to show what a page says.",
    "hasty": "Often late, places often unknown, many moves missed. Made up to show what a page says.",
}


def create_answer_set(owner: User) -> Iterator[str]:
    """Create it if it is not there; yields a line for it."""
    if AnswerSet.objects.filter(slug=SLUG).exists():
        return
    made = services.create_answer_set(
        (DATA / "answers.tsv").read_bytes(),
        (DATA / "sentences.tsv").read_bytes(),
        actor=owner,
        slug=SLUG,
        title="Everyday processes",
        visibility=Visibility.PUBLIC,
        licence="CC0-1.0",
        description="Fourteen short paragraphs about everyday processes, from making tea to printing a leaflet, "
        "written for LM Gym. For trying things out and for tests, not for rating systems.",
    )
    version = made.latest
    assert version is not None
    for name, description in SUBMISSIONS.items():
        about = services.About(name.capitalize(), description, visibility=Visibility.PUBLIC)
        data = (DATA / f"{name}.tsv").read_bytes()
        services.submit(version, data, f"{name}.tsv", about, actor=owner)
    yield f"answer set {SLUG} with {len(SUBMISSIONS)} submissions"
