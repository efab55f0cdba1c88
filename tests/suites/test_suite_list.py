"""The list of suites: who sees which suites, search and sorting."""

from __future__ import annotations

import re

import pytest

from gym.jobs.testing import run_pending
from gym.runs.work import services as runs
from suites import services
from suites.models import Suite
from suites.selectors import SuiteFilter
from tests.factories import make_model, make_revision, make_suite

LIST = "/suites/"


def titles(client, **query: str) -> list[str]:
    """Return the titles in the order of the rows."""
    page = " ".join(client.get(LIST, query).content.decode().split())
    return re.findall(r'<th scope="row">.*?<a href="/suites/[^"]+/">([^<]+)</a>', page)


@pytest.fixture
def three(people):
    make_three(people)


def make_three(people):
    """Suites of 2, 5 and 3 items."""
    for name, items, tags in (
        ("Agreement", 2, "number"),
        ("Binding", 5, "binding"),
        ("Islands", 3, "number, wh"),
    ):
        suite = make_suite(people.alice, name=name, items=items)
        services.set_tags(suite, tags.split(","))
    Suite.objects.filter(slug="islands").update(
        description="wh-extraction", reference="Ross 1967", language="de"
    )


def test_the_page_filters_and_sorts(client, three):
    assert titles(client, tag="number", sort="-items") == ["Islands", "Agreement"]


@pytest.mark.parametrize("query", [{"sort": "owner__password"}, {"page": "99"}, {"page": "x"}])
def test_an_order_or_page_that_there_is_not_is_the_usual_one(client, three, query):
    assert titles(client, **query) == ["Agreement", "Binding", "Islands"]


def test_mine_is_what_one_owns_or_works_on(client, people, three):
    make_suite(people.bob, name="Shared").collaborations.create(user=people.charlie, role="view")
    make_suite(people.charlie, name="Own")
    client.force_login(people.charlie)
    assert titles(client, mine="true") == ["Own", "Shared"]
    assert titles(client, mine="true", tag="number") == []
    assert client.get(LIST, {"mine": "perhaps"}).status_code == 400
    client.force_login(people.dora)
    assert "You have no suites yet" in client.get(LIST, {"mine": "true"}).content.decode()


def test_each_suite_names_its_owner(client, people, three):
    make_suite(people.bob, name="Shared")
    page = client.get(LIST).content.decode()
    assert re.findall(r"<td>(\w+)</td>", page) == ["alice", "alice", "alice", "bob"]


def test_a_search_without_a_match_says_so_and_keeps_the_words(client, three):
    page = client.get(LIST, {"q": "zebra"}).content.decode()
    assert "No suite matches" in page
    assert 'value="zebra"' in page


def test_tags_are_counted_among_listed_suites_only(client, people, three):
    hidden = make_suite(people.bob, name="hidden", visibility="private")
    services.set_tags(hidden, ["number", "secret"])
    page = client.get(LIST).content.decode()
    assert re.search(r"number\D{0,200}2", page)
    assert "secret" not in page


@pytest.mark.parametrize(
    ("who", "listed"),
    [
        (None, ["public"]),
        ("charlie", ["public"]),
        ("bob", ["private", "public"]),
        ("alice", ["private", "public", "unlisted"]),
        ("staff", ["private", "public"]),
    ],
)
def test_private_and_unlisted_suites_are_in_the_lists_of_their_people_only(client, people, who, listed):
    for name in ("public", "unlisted", "private"):
        make_suite(
            people.alice,
            name=name,
            visibility=name,
            collaborator=people.bob if name == "private" else None,
        )
    if who:
        client.force_login(getattr(people, who))
    assert titles(client) == listed


def test_a_viewing_collaborator_sees_an_unlisted_suite_in_the_list(client, people):

    suite = make_suite(people.alice, visibility="unlisted")
    suite.collaborations.create(user=people.bob, role="view")
    client.force_login(people.bob)
    assert titles(client) == ["agreement"]


def test_a_row_has_the_shape_and_the_best_model(client, people):
    revision = make_revision(people.alice, items=4)
    model = make_model(people.alice)
    runs.queue_run(revision, model, actor=people.alice)
    run_pending()
    row = client.get(LIST).content.decode().split("<tbody>")[1]
    assert re.findall(r'<td class="num(?: spare)?">(\d+)</td>', row)[:3] == ["4", "8", "1"]
    assert model.name in row
    assert "0.0%" in row
    assert "r1" in row


def test_results_of_a_private_model_show_for_its_owner_only(client, people):
    secret = make_model(people.bob, slug="secret-model", visibility="private")
    runs.queue_run(make_revision(people.alice), secret, actor=people.bob)
    run_pending()
    assert secret.name not in client.get(LIST).content.decode()
    client.force_login(people.bob)
    assert secret.name in client.get(LIST).content.decode()


def test_a_long_list_comes_in_pages_and_takes_as_many_queries_as_a_short_one(
    client, people, django_assert_max_num_queries
):
    for number in range(51):
        Suite.objects.create(
            slug=f"s{number}", title=f"n{number:02}", owner=people.alice, visibility="public"
        )
    with django_assert_max_num_queries(10):
        assert len(titles(client)) == 50
    assert titles(client, page="2") == ["n50"]


def test_each_word_of_a_search_is_one_subquery_whatever_the_tags(people):
    """A join on tags for every word multiplied rows: six words over ten tags took 25 seconds."""
    suite = make_suite(people.alice, name="Tagged")
    services.set_tags(suite, [f"tag{n}" for n in range(10)])
    found = SuiteFilter({"q": " ".join(["tag"] * 10)}, queryset=Suite.objects.all()).qs
    assert [one.slug for one in found] == ["tagged"]
    outer, _, words = str(found.query).partition(" WHERE ")
    assert "JOIN" not in outer
    assert words.count("SELECT") == 10


@pytest.mark.parametrize(
    ("query", "said"), [("a " * 11, "at most 10 words"), ("a" * 201, "at most 200 characters")]
)
def test_a_search_too_long_is_refused_and_says_why(client, three, query, said):
    answer = client.get(LIST, {"q": query})
    assert answer.status_code == 400
    assert said in answer.content.decode()
    api = client.get("/api/v1/suites/", {"q": query})
    assert api.status_code == 400
    assert said in api.json()["errors"][0]["message"]
