"""What only administrators may see, whoever counts as one, and secrets that nobody sees."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.fault.strangers.stranger import (
    FRIEND,
    STRANGER,
    broker_among_strangers,
    nameserver_among_strangers,
    strangers,
)
from tests.unit.auth.authorization.reads import READS

from sprocketmq.auth.authorization.request_table import CHANGES, REQUESTS, Asker
from sprocketmq.codes import RequestCode, ResponseCode
from sprocketmq.config import shown


async def test_admin_reads_are_for_administrators(tmp_path: Path) -> None:
    async with (
        broker_among_strangers(tmp_path, brokerAllowFrom="127.0.0.3") as broker,
        strangers(broker.port, STRANGER, FRIEND, "127.0.0.3") as (stranger, admin, slave),
    ):
        served = sorted((CHANGES | READS) & broker.table.codes())
        assert len(served) > 40
        for code in served:
            assert (await stranger(code)).code == ResponseCode.NO_PERMISSION, code
        for code in sorted(READS & broker.table.codes()):
            assert (await admin(code)).code != ResponseCode.NO_PERMISSION, code
            copies = REQUESTS[code].role is Asker.ADMIN_OR_BROKER
            assert ((await slave(code)).code != ResponseCode.NO_PERMISSION) is copies, code
        assert (await slave(RequestCode.UPDATE_BROKER_CONFIG, b"traceOn=false")).code == ResponseCode.NO_PERMISSION


async def test_the_configuration_of_a_nameserver(tmp_path: Path) -> None:
    async with (
        nameserver_among_strangers(tmp_path) as nameserver,
        strangers(nameserver.port, STRANGER, FRIEND) as (stranger, admin),
    ):
        assert (await stranger(RequestCode.GET_NAMESRV_CONFIG)).code == ResponseCode.NO_PERMISSION
        assert (await admin(RequestCode.GET_NAMESRV_CONFIG)).code == 0


async def test_this_machine_is_an_administrator_unless_a_proxy_is_on_it(tmp_path: Path) -> None:
    async with broker_among_strangers(tmp_path, adminAllowLocal="true", adminAllowFrom="") as broker:
        async with strangers(broker.port, STRANGER) as (local,):
            assert (await local(RequestCode.GET_BROKER_CONFIG)).code == 0
    async with broker_among_strangers(tmp_path, adminAllowFrom="") as broker:
        async with strangers(broker.port, STRANGER) as (proxied,):
            assert (await proxied(RequestCode.GET_BROKER_CONFIG)).code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize(
    "key", ["initAuthenticationUser", "innerClientAuthenticationCredentials", "tls.server.keyPassword", "secretKey"]
)
def test_secrets_are_not_shown(key: str) -> None:
    assert shown(key, '{"username":"root","password":"marked"}') == "***"


async def test_the_metrics_page(tmp_path: Path) -> None:
    async with broker_among_strangers(
        tmp_path, metricsExporterType="PROM", metricsPromExporterPort="0", bindAddress="0.0.0.0"
    ) as broker:
        assert broker.exporter is not None
        assert broker.exporter.host == "127.0.0.1", "not where clients are served"
        async with strangers(broker.exporter.port, *[STRANGER] * 33) as (*_idle, last):
            assert await last.is_dropped()
            assert broker.exporter.refused == 1
