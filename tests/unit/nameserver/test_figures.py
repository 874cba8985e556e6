from __future__ import annotations

import asyncio
import json

from prometheus_client.parser import text_string_to_metric_families
from tests.unit.nameserver.conftest import Caller

from sprocketmq.nameserver.server import Nameserver


async def page(nameserver: Nameserver, path: str) -> tuple[int, str]:
    reader, writer = await asyncio.open_connection("127.0.0.1", nameserver.exporter.port)
    writer.write(f"GET {path} HTTP/1.1\r\n\r\n".encode())
    head, _, body = (await asyncio.wait_for(reader.read(), 60)).decode().partition("\r\n\r\n")
    writer.close()
    return int(head.split()[1]), body


async def test_a_nameserver_without_brokers_is_not_ready(nameserver: Nameserver, call: Caller) -> None:
    assert (await page(nameserver, "/health"))[0] == 200
    status, text = await page(nameserver, "/ready")
    assert (status, json.loads(text)["why"]) == (503, ["no broker has registered"])
    await call.register()
    assert (await page(nameserver, "/ready"))[0] == 200


async def test_its_figures(nameserver: Nameserver, call: Caller) -> None:
    await call.register()
    await call.register(broker_id=1)
    _, text = await page(nameserver, "/metrics")
    found = {s.name: s.value for family in text_string_to_metric_families(text) for s in family.samples}
    assert found["sprocketmq_nameserver_brokers"] == 2
    assert found["sprocketmq_nameserver_masters"] == 1
    assert found["sprocketmq_connections"] == 1
    assert found["sprocketmq_refused_total"] == found["sprocketmq_held_bytes"] == 0
    assert found["rocketmq_topic_number"] >= 1
