from __future__ import annotations

import pytest

from sprocketmq.codes import VERSION, VERSION_NAME
from sprocketmq.protocol.rocketmq_versions import version_name

KNOWN = {
    "4.0.0": 213, "4.1.0-SNAPSHOT": 232, "4.1.0": 233, "4.5.2": 317, "4.9.0": 393, "4.9.3": 399, "4.9.4": 401,
    "4.9.8": 409, "5.0.0": 413, "5.1.0": 433, "5.2.0": 453, "5.3.0": 473, "5.3.1": 475, "5.3.3": 479, "5.4.0": 493,
}  # fmt: skip


@pytest.mark.parametrize(("name", "number"), KNOWN.items())
def test_a_number_of_the_rule_has_a_name(name: str, number: int) -> None:
    assert version_name(number) == name


def test_every_number_of_the_rule_has_a_name_of_its_own() -> None:
    assert len({version_name(number) for number in range(212, 612)}) == 400


def test_what_we_announce_is_one_version() -> None:
    assert f"V{version_name(VERSION)}".replace(".", "_") == VERSION_NAME


@pytest.mark.parametrize(("number", "name"), [(121, "3.4.9"), (5, "version 5"), (100_000, "version 100000")])
def test_numbers_outside_the_rule(number: int, name: str) -> None:
    assert version_name(number) == name
