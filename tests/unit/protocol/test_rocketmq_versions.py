from __future__ import annotations

import pytest

from sprocketmq.protocol.rocketmq_versions import version_constant, version_name, version_number

KNOWN = {
    "4.0.0": 213, "4.1.0-SNAPSHOT": 232, "4.1.0": 233, "4.5.2": 317, "4.9.0": 393, "4.9.3": 399, "4.9.4": 401,
    "4.9.8": 409, "5.0.0": 413, "5.1.0": 433, "5.2.0": 453, "5.3.0": 473, "5.3.1": 475, "5.3.3": 479, "5.4.0": 493,
}  # fmt: skip


@pytest.mark.parametrize(("name", "number"), KNOWN.items())
def test_both_ways(name: str, number: int) -> None:
    assert version_number(name) == number
    assert version_name(number) == name


def test_every_number_of_the_rule_comes_back() -> None:
    for number in range(212, 612):
        assert version_number(version_name(number)) == number
        assert version_number(version_constant(number)) == number


def test_the_constant_is_java_s() -> None:
    assert version_constant(479) == "V5_3_3"
    assert version_constant(478) == "V5_3_3_SNAPSHOT"


@pytest.mark.parametrize(("number", "name"), [(121, "3.4.9"), (5, "version 5"), (100_000, "version 100000")])
def test_numbers_outside_the_rule(number: int, name: str) -> None:
    assert version_name(number) == name


@pytest.mark.parametrize("name", ["", "5", "5.3", "6.0.0", "5.3.3-RC1", "5.10.0"])
def test_what_is_no_version(name: str) -> None:
    with pytest.raises(ValueError, match="no version"):
        version_number(name)
