from __future__ import annotations

import pytest

from sprocketmq.errors import CommandError
from sprocketmq.protocol.controller_fields import LeaseFields, MasterFields, ReplicaFields
from sprocketmq.protocol.header import from_ext_fields, to_ext_fields


@pytest.mark.parametrize(
    ("fields", "ext"),
    [
        (ReplicaFields(), {"uncleanBoot": "false"}),
        (ReplicaFields(broker_ha_address="h:1", unclean_boot=True), {"brokerHaAddress": "h:1", "uncleanBoot": "true"}),
        (LeaseFields(broker_id=1, lease_millis=2000), {"brokerId": "1", "leaseMillis": "2000"}),
        (MasterFields(master_ha_address="h:1"), {"masterHaAddress": "h:1"}),
        (MasterFields(), {}),
    ],
)
def test_there_and_back(fields: object, ext: dict[str, str]) -> None:
    assert to_ext_fields(fields) == ext
    assert from_ext_fields(type(fields), ext) == fields


def test_who_does_not_know_them_asks_for_nothing() -> None:
    java = {"brokerName": "a", "brokerId": "7"}
    assert from_ext_fields(ReplicaFields, java) == ReplicaFields()
    assert from_ext_fields(LeaseFields, java).lease_millis is None


def test_a_lease_is_a_number() -> None:
    with pytest.raises(CommandError, match="leaseMillis"):
        from_ext_fields(LeaseFields, {"leaseMillis": "long"})
