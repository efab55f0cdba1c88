"""Per-account quotas on the number of objects of a kind and on their bytes."""

from __future__ import annotations

import pytest
from django.urls import reverse

from gym.accounts import quotas
from gym.accounts.quotas import Limit, OverQuota
from gym.pages.account_deletion import delete_account, former_member
from models_registry.quotas import MODELS
from models_registry.services import register_uploaded_model
from tests.factories import make_model, make_suite

KINDS = {
    "suites", "models", "runs", "human_data", "collections", "answer_sets", "submissions", "agent_suites", "agent_runs",
    "corpora",
    "games",
}  # fmt: skip


def register(user, name="m", **more):
    return register_uploaded_model(actor=user, name=name, **more)


def test_every_room_says_what_it_counts():
    assert {kind.key for kind in quotas.kinds()} == KINDS


def test_number_and_bytes_are_counted_from_the_things_themselves(people):
    before = MODELS.amount_of(people.alice)
    model = register(people.alice, description="x" * 500)
    after = MODELS.amount_of(people.alice)
    assert (before.number, before.bytes, after.number) == (0, 0, 1)
    assert 500 + quotas.ROW < after.bytes < 1_500
    model.delete()
    assert MODELS.amount_of(people.alice) == before


def test_bytes_are_bytes_and_not_characters(people):
    latin, other = (register(user, "m", description=text * 100) for user, text in
                    ((people.alice, "a"), (people.bob, "世")))  # fmt: skip
    assert len(latin.description) == len(other.description)
    assert MODELS.amount_of(people.bob).bytes - MODELS.amount_of(people.alice).bytes == 200


def test_one_more_than_the_number_is_refused_in_words_that_help(people, settings):
    settings.GYM_QUOTA_MODELS = (2, 0)
    register(people.alice)
    register(people.alice)
    with pytest.raises(OverQuota, match=r"You have 2 models; the limit is 2\. Delete what .* ask staff"):
        register(people.alice)
    assert people.alice.models.count() == 2
    register(people.bob)  # other accounts have their own quota


def test_what_would_exceed_the_bytes_is_undone(people, settings):
    settings.GYM_QUOTA_MODELS = (0, 2_000)
    register(people.alice)
    with pytest.raises(
        OverQuota, match=r"With this change, your models would take up 5.* kB; the limit is 2 kB\."
    ):
        register(people.alice, description="x" * 5_000)
    assert people.alice.models.count() == 1


def test_what_becomes_smaller_is_saved_even_above_the_limit(people, settings):
    from models_registry.services import edit_card

    model = register(people.alice, description="x" * 5_000)
    settings.GYM_QUOTA_MODELS = (0, 1_000)
    edit_card(model, actor=people.alice, description="x" * 4_000)
    with pytest.raises(OverQuota):
        edit_card(model, actor=people.alice, description="x" * 4_001)
    model.refresh_from_db()
    assert len(model.description) == 4_000


def test_zero_is_no_limit_and_staff_has_none(people, settings):
    settings.GYM_QUOTA_MODELS = (0, 0)
    register(people.alice, description="x" * 5_000)
    settings.GYM_QUOTA_MODELS = (1, 1)
    for _ in range(2):
        register(people.staff)


@pytest.mark.parametrize(
    ("factor", "limit"),
    [
        (2, Limit(2, 2_000)),
        (0.5, Limit(1, 500)),
        (0.001, Limit(1, 1)),
        (1e-9, Limit(1, 1)),
        (1.1, Limit(2, 1_100)),  # 1,000 * 1.1 is 1100.0000000000002
        (0, Limit()),
    ],
)
def test_an_account_may_have_a_multiple_or_a_part_of_the_quotas_or_none(people, settings, factor, limit):
    settings.GYM_QUOTA_MODELS = (1, 1_000)
    people.alice.quota_factor = factor
    assert MODELS.limit_of(people.alice) == limit


def test_what_a_collaborator_adds_counts_for_the_owner_who_is_not_told_as_you(people, settings):
    from models_registry.services import edit_card

    model = register(people.alice)
    model.collaborations.create(user=people.bob)
    settings.GYM_QUOTA_MODELS = (0, 1_000)
    with pytest.raises(OverQuota, match="alice owns this and may keep 1 kB of models"):
        edit_card(model, actor=people.bob, description="x" * 2_000)
    edit_card(model, actor=people.staff, description="x" * 2_000)


def test_nobody_is_handed_more_than_they_may_keep(people, settings):
    from gym.sharing import invitations

    settings.GYM_QUOTA_MODELS = (1, 0)
    register(people.bob)
    model = register(people.alice)
    row = model.collaborations.create(user=people.bob)
    offer = invitations.offer_ownership(model, row, actor=people.alice)
    with pytest.raises(OverQuota, match="bob may not keep more models"):
        invitations.accept(offer, actor=people.bob)
    model.refresh_from_db()
    assert model.owner == people.alice


def test_what_deleted_accounts_leave_has_no_limit(people, settings):
    from suites.services import edit_card

    suite = make_suite(people.alice, collaborator=people.bob)
    delete_account(people.alice)
    settings.GYM_QUOTA_SUITES = (1, 1)
    suite.refresh_from_db()
    assert suite.owner == former_member()
    edit_card(suite, actor=people.bob, description="still there")


@pytest.mark.parametrize(
    ("size", "said"),
    [(0, "0 bytes"), (999, "999 bytes"), (1_000, "1 kB"), (4_240_000, "4.2 MB"), (2_000_000_000, "2 GB")],
)
def test_bytes_are_said_as_people_read_them(size, said):
    assert quotas.size_text(size) == said


# --- shown ---


def test_the_profile_shows_what_one_uses_of_what(client, people):
    register(people.alice)
    client.force_login(people.alice)
    page = " ".join(client.get(reverse("profile")).content.decode().split())
    assert "Storage" in page
    assert '<th scope="row">Models</th> <td class="num">1 <span class="quiet">of 500</span></td>' in page
    assert "of 100 MB" in page


def test_staff_sees_every_account_the_largest_first(client, people):
    register(people.alice)
    register(people.bob, description="x" * 5_000)
    make_model(people.staff, slug="own")
    client.force_login(people.staff)
    page = client.get(reverse("staff-accounts")).content.decode()
    assert page.index(">bob</a>") < page.index(">alice</a>")
    client.force_login(people.alice)
    assert client.get(reverse("staff-accounts")).status_code == 403


def test_the_list_of_accounts_takes_as_many_queries_as_one(client, people, django_assert_max_num_queries):
    for user in (people.alice, people.bob, people.charlie):
        register(user)
    client.force_login(people.staff)
    with django_assert_max_num_queries(5):
        client.get(reverse("staff-accounts"))


def test_what_one_uses_is_read_in_one_query(people, django_assert_num_queries):
    from gym.pages.profile import use_of

    with django_assert_num_queries(1):
        use_of(people.alice)
