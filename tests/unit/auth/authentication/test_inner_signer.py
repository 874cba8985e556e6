"""A nameserver with accounts takes registrations of the inner user alone, which brokers sign with."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.signatures import is_signed
from tests.unit.broker.conftest import StartBroker

from sprocketmq.auth.authentication.inner_signer import InnerSigner
from sprocketmq.auth.config import Credential
from sprocketmq.nameserver.config import NameserverConfig
from sprocketmq.nameserver.server import Nameserver
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.signing import CODE, NONCE, TIMESTAMP

INNER = '{"accessKey":"inner","secretKey":"inner-secret"}'
WRONG = '{"accessKey":"inner","secretKey":"another-secret"}'


@pytest.mark.parametrize(("credentials", "registers"), [(INNER, True), (WRONG, False), ("", False)])
async def test_brokers_register_with_inner_credentials(
    start_broker: StartBroker, tmp_path: Path, credentials: str, registers: bool
) -> None:
    nameserver = Nameserver(
        NameserverConfig(
            listen_port=0, bind_address="127.0.0.1", kv_config_path=tmp_path / "kv.json",
            config_store_path=tmp_path / "ns" / "namesrv.properties", authentication_enabled=True,
            authorization_enabled=True, inner_client_authentication_credentials=INNER, metrics_prom_exporter_port=0,
        )
    )  # fmt: skip
    await nameserver.start()
    try:
        await start_broker(namesrvAddr=f"127.0.0.1:{nameserver.port}", innerClientAuthenticationCredentials=credentials)
        assert bool(list(nameserver.routes.groups())) is registers
    finally:
        await nameserver.stop()


def test_only_configured_addresses_are_signed_for() -> None:
    signer = InnerSigner(Credential("inner", "secret"), ["ns:9876"])
    learnt, named = Command(103, ext_fields={"a": "1"}), Command(103, ext_fields={"a": "1"})
    signer.sign("stranger:9876", learnt)
    signer.sign("ns:9876", named)
    assert learnt.ext_fields == {"a": "1"}
    fields = named.ext_fields or {}
    assert is_signed(fields, b"", "secret")
    assert {TIMESTAMP, NONCE, CODE} <= fields.keys()
    signer.sign("ns:9876", named)  # as a repeated attempt
    assert (named.ext_fields or {})[NONCE] != fields[NONCE]
