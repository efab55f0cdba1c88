"""Tokens that are parts of one character say which part they are."""

from __future__ import annotations

from django.urls import reverse

from gym.runs.models import SentenceScore, SuiteRun
from tests.factories import make_model, make_revision
from tests.runs.boards import finished_run


def test_the_item_page_marks_parts_in_table_and_drawing(client, people):
    revision = make_revision(people.alice)
    run = finished_run(revision, make_model(people.alice), [1, 1, 1])
    SuiteRun.objects.filter(pk=run.pk).update(region_summary=[{"condition": "match", "regions": []}])
    for sentence in revision.sentences.all():
        tokens = [["å", 5, 0, 1, 2.0, 0, False], ["¤", 6, 0, 1, 3.0, 0, False], ["ª", 7, 0, 1, 1.0, 0, False]]
        tokens += [["éĥİ", 8, 1, 2, 4.0, 1, False]]
        SentenceScore.objects.create(
            run=run, sentence=sentence, text="太郎", tokens=tokens, regions=[6.0, 4.0, 0.0], surprisal=10.0
        )
    page = client.get(reverse("run-item", args=[run.key, 1])).content.decode()
    assert '<span class="letters">太</span><span class="part">2/3</span>' in page
    assert '<span class="letters">郎</span></span>' in page
    assert "part 2/3 of a character" in page
    drawing = client.get(f"/figures/run-item.svg?run={run.key}&item=1").content.decode()
    assert "“太 3/3” 1.00 bits" in drawing
