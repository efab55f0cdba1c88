"""The site's policy for requests to other machines."""

from gym.outbound_policy import net_policy


def test_a_site_reaches_public_addresses_and_nothing_at_home_unless_told(settings):
    rules = net_policy().rules
    assert [rule.is_named for rule in rules] == [False]
    settings.GYM_NET_ALLOW = ["127.0.0.1:9"]
    assert net_policy(seconds=3).seconds == 3
    assert net_policy().rules[0].port == 9
