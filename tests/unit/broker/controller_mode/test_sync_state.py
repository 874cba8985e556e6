from __future__ import annotations

import pytest
from tests.unit.protocol.golden import GOLDEN

from sprocketmq.broker.controller_mode.sync_state import Reign, reign_in
from sprocketmq.protocol import java_json
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder

FRAMES = GOLDEN / "ha" / "controller"


def frame(name: str) -> Command:
    (command,) = FrameDecoder().feed((FRAMES / name).read_bytes())
    return command


@pytest.mark.parametrize("name", ["1002-answer-0-1", "1003-answer-0-2", "1004-answer-0-1", "1004-answer-0-2"])
def test_what_a_java_controller_tells_of_a_master(name: str) -> None:
    command = frame(f"{name}.bin")
    reign = reign_in(command)
    fields = command.ext_fields or {}
    body = java_json.loads(bytes(command.body))
    assert isinstance(reign, Reign)
    assert (str(reign.master_id), reign.master_address, str(reign.epoch)) == (
        fields["masterBrokerId"], fields["masterAddress"], fields["masterEpoch"]
    )  # fmt: skip
    assert reign.members == set(body["syncStateSet"])
    assert reign.set_epoch == int(fields.get("syncStateSetEpoch") or body["syncStateSetEpoch"])
    assert (reign.ha_address, reign.lease_ms) == ("", 0)


@pytest.mark.parametrize("name", ["1008-request-1", "1008-request-2"])
def test_a_java_controllers_notice(name: str) -> None:
    reign = reign_in(frame(f"{name}.bin"))
    assert reign is not None
    assert reign.master_id in reign.members


def test_a_set_without_a_living_master() -> None:
    assert reign_in(frame("1003-answer-0-1.bin")) is None


def test_what_our_controller_adds() -> None:
    fields = {
        "masterBrokerId": "2", "masterAddress": "a:1", "masterEpoch": "7", "masterHaAddress": "a:2",
        "leaseMillis": "2000",
    }  # fmt: skip
    body = b'{"syncStateSet":[2,3],"syncStateSetEpoch":9}'
    assert reign_in(Command(0, ext_fields=fields, body=body)) == Reign(2, "a:1", 7, frozenset({2, 3}), 9, "a:2", 2000)
