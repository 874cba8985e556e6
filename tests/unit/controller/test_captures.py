"""What Apache's controller 5.3.3 answered two of its brokers, beside what ours answers to the same requests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.unit.controller.conftest import Caller

from sprocketmq.controller.server import Controller
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder

FRAMES = Path(__file__).parents[2] / "data" / "golden" / "ha" / "controller"


def frame(name: str) -> Command:
    decoder = FrameDecoder()
    (command,) = decoder.feed((FRAMES / f"{name}.bin").read_bytes())
    return command


async def replay(call: Caller, name: str) -> tuple[Command, Command]:
    """Ours and Apache's answer to a recorded request."""
    code, number = name.split("-")
    request = frame(f"{code}-request-{number}")
    ours = await call.send(Command(request.code, ext_fields=request.ext_fields, body=request.body, version=479))
    return ours, frame(f"{code}-answer-0-{number}")


def comparable(command: Command) -> tuple[Any, ...]:
    return command.code, command.remark, command.ext_fields, command.body


async def test_two_brokers_come_up_and_one_takes_over(controller: Controller, call: Caller) -> None:
    """The recorded order: the first applies, registers and reigns; the second joins; the first dies and comes back."""
    for name in ("1012-1", "1013-1", "1003-1"):
        ours, apaches = await replay(call, name)
        assert comparable(ours) == comparable(apaches), name
    await call.send_recorded(frame("904-request-1"))
    ours, apaches = await replay(call, "1002-1")
    assert comparable(ours) == comparable(apaches)
    for name in ("1004-1", "1012-2", "1013-2", "1003-2"):
        ours, apaches = await replay(call, name)
        assert comparable(ours) == comparable(apaches), name
    second = frame("1003-request-2").ext_fields or {}
    name, cluster, address = (second[key] for key in ("brokerName", "clusterName", "brokerAddress"))
    await call.heartbeat(int(second["brokerId"]), name=name, cluster=cluster, address=address)
    ours, apaches = await replay(call, "1001-1")
    assert comparable(ours) == comparable(apaches)


async def test_what_administrators_were_shown(controller: Controller, call: Caller) -> None:
    for name in ("1013-1", "1003-1"):
        await replay(call, name)
    await call.send_recorded(frame("904-request-1"))
    await replay(call, "1002-1")
    ours, apaches = await replay(call, "1006-1")
    assert ours.body == apaches.body
    assert ours.code == apaches.code


async def test_who_leads(controller: Controller, call: Caller) -> None:
    ours, apaches = await replay(call, "1005-1")
    assert set(ours.ext_fields or {}) == set(apaches.ext_fields or {})
    assert (ours.ext_fields or {})["peers"] == f"n0:127.0.0.1:{controller.port};"
    assert (ours.ext_fields or {})["isLeader"] == "true"


@pytest.mark.parametrize("number", [1, 2])
def test_a_notice(number: int) -> None:
    from sprocketmq.controller.broker_set import BrokerSet, ReplicaRecord
    from sprocketmq.controller.decisions import reign, set_body

    recorded = frame(f"1008-request-{number}")
    fields = recorded.ext_fields or {}
    master = int(fields["masterBrokerId"])
    record = BrokerSet(
        replicas=(ReplicaRecord(broker_id=master, address=fields["masterAddress"]),),
        master=master,
        master_epoch=int(fields["masterEpoch"]),
        in_sync=frozenset(json.loads(recorded.body)["syncStateSet"]),
        in_sync_epoch=int(fields["syncStateSetEpoch"]),
    )
    assert reign(record) == fields
    assert set_body(record) == recorded.body
