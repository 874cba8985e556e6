from __future__ import annotations

import pytest

from sprocketmq.config import from_properties, settings_of
from sprocketmq.controller.config import MEANINGLESS, ControllerConfig
from sprocketmq.controller.engines import Member
from sprocketmq.errors import ConfigError


def test_rocketmqs_keys_are_understood() -> None:
    peers = {"controllerDLegerPeers": "n0-10.0.0.1:9878;n1-ctl-b.example:9879;", "controllerDLegerSelfId": "n1"}
    config = from_properties(ControllerConfig, {"controllerDLegerGroup": "g", **peers})
    assert config.members() == {"n0": Member("n0", "10.0.0.1:9878"), "n1": Member("n1", "ctl-b.example:9879")}
    assert config.port_to_bind == 9879
    assert ControllerConfig().port_to_bind == 9878


@pytest.mark.parametrize("peers", ["n0", "n0-", "n0-host", "-host:1", "n0:host:1", "n0-h:99999"])
def test_what_is_no_peer_is_named(peers: str) -> None:
    with pytest.raises(ConfigError, match="controllerDLegerPeers"):
        from_properties(ControllerConfig, {"controllerDLegerPeers": peers})


def test_a_controller_is_one_of_its_peers() -> None:
    with pytest.raises(ConfigError, match="controllerDLegerSelfId='n9'"):
        from_properties(ControllerConfig, {"controllerDLegerPeers": "n0-h:1", "controllerDLegerSelfId": "n9"})


def test_no_key_is_both_known_and_without_meaning() -> None:
    assert not set(MEANINGLESS) & set(settings_of(ControllerConfig))


def test_the_safe_election_is_the_default() -> None:
    assert not ControllerConfig().enable_elect_unclean_master
