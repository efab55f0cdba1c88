"""How scores are computed: the page has what other pages link to, and its examples match the code."""

from __future__ import annotations

import re

import pytest

from lmgym.agents.pass_rates import pass_at_k, pass_hat_k
from lmgym.runs.coverage import LOW_COVERAGE

LINKED = (
    "hit", "mrr", "pcpc", "kpc", "mixture", "keystroke-savings", "bits-per-character", "completion", "entropy",
    "corrected-f1", "pass-at-k", "pass-hat-k", "agent-difference", "agent-rules",
    "agent-rate", "agent-evidence", "agent-flaky",
    "propara-interval", "propara-difference",
)  # fmt: skip


@pytest.fixture
def about(client, db) -> str:
    return client.get("/about/").content.decode()


@pytest.mark.parametrize("anchor", LINKED)
def test_a_heading_can_be_linked_to(about, anchor):
    assert re.findall(rf'<h[23] id="{anchor}">', about) == [f'<h3 id="{anchor}">']


def test_every_link_to_a_part_of_a_page_leads_to_one_that_is_there(client, about):
    body = about.split('<div class="prose">')[1]
    for address, part in re.findall(r'href="([^"#]*)#([^"]+)"', body):
        page = client.get(address).content.decode() if address else about
        assert f' id="{part}"' in page, (address, part)


def test_the_share_of_words_for_a_verdict_is_that_of_the_code(about):
    assert f"knows less than {LOW_COVERAGE:.0%} of the words" in " ".join(about.split())


def test_the_example_of_repeats_is_what_the_code_computes(about):
    n, c, k, at, hat = 10, 8, 3, "1", "0.47"
    assert f"With {c} passes in {n} iterations, pass@{k} is {at} and pass^{k} is {hat}." in " ".join(
        about.split()
    )
    assert f"{pass_at_k(n, c, k):g}" == at
    assert f"{pass_hat_k(n, c, k):.2f}" == hat
