"""A client with many requests does not make others wait for all of them."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gym.jobs.web_server import Turns, client_of


def channel(peer: str, **headers: str) -> SimpleNamespace:
    return SimpleNamespace(addr=(peer, 50000), requests=[SimpleNamespace(headers=headers)])


def order(tasks: list[str]) -> list[str]:
    turns: Turns[str] = Turns(lambda task: task[0])
    for task in tasks:
        turns.append(task)
    return [turns.popleft() for _ in range(len(turns))]


def test_each_client_is_served_in_turn_and_its_own_requests_in_their_order():
    assert order(["a1", "a2", "a3", "a4", "b1", "c1", "b2"]) == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]


def test_who_comes_late_waits_for_one_request_of_each_other_client():
    turns: Turns[str] = Turns(lambda task: task[0])
    for number in range(40):
        turns.append(f"a{number}")
    taken = [turns.popleft() for _ in range(8)]
    turns.append("b0")
    assert len(turns) == 33
    assert [turns.popleft(), turns.popleft()] == ["a8", "b0"]
    assert taken == [f"a{number}" for number in range(8)]


@given(st.lists(st.sampled_from("abcd")))
def test_every_request_gets_its_turn_once(clients):
    tasks = [f"{client}{number}" for number, client in enumerate(clients)]
    served = order(tasks)
    assert sorted(served) == sorted(tasks)
    for client in "abcd":
        assert [task for task in served if task[0] == client] == [task for task in tasks if task[0] == client]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (channel("192.0.2.1"), channel("192.0.2.2")),
        (channel("192.0.2.1"), channel("192.0.2.1", AUTHORIZATION="Token b")),
        (channel("192.0.2.1", COOKIE="sessionid=a"), channel("192.0.2.1", COOKIE="sessionid=b")),
    ],
)
def test_an_address_a_token_or_a_session_of_their_own_makes_two_clients(one, other):
    assert client_of(one) != client_of(other)


def test_a_client_is_told_apart_behind_a_proxy_only_where_there_is_one(settings):
    one, other = (channel("127.0.0.1", X_FORWARDED_FOR=f"192.0.2.{number}") for number in (1, 2))
    assert client_of(one) == client_of(other)
    settings.GYM_BEHIND_PROXY = True
    assert client_of(one) != client_of(other)
