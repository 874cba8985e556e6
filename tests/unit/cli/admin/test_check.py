from __future__ import annotations

import pytest
from click.testing import CliRunner

from sprocketmq.cli.admin.check import CheckResult, Health, Thresholds, _brokers, _line, _worst, check
from sprocketmq.client.admin.brokers import BrokerStatus

BOUNDS = Thresholds(75, 90)


def status(disk: float, error: str | None = None) -> BrokerStatus:
    return BrokerStatus("c", "broker-a", 0, "h:1", {} if error else {"commitLogDiskRatio": str(disk)}, error)


def worst(*statuses: BrokerStatus, wanted: int = 1) -> Health:
    return _worst(_brokers(list(statuses), wanted, BOUNDS))


def test_brokers_and_disks() -> None:
    assert worst(status(0.5)) is Health.OK
    assert worst(status(0.75)) is Health.WARNING
    assert worst(status(0.95)) is Health.CRITICAL
    assert worst(status(0.5), wanted=2) is Health.CRITICAL
    assert worst(status(0.5), status(0, "no answer")) is Health.CRITICAL
    assert worst(wanted=1) is Health.CRITICAL


def test_the_line_says_the_worst() -> None:
    findings = [
        CheckResult("brokers", Health.OK, "1 of 1 brokers answer", 1),
        CheckResult("lag_g", Health.WARNING, "g is late", 12),
    ]
    assert _line(Health.WARNING, findings) == "WARNING: g is late | brokers=1 lag_g=12"
    assert _line(Health.OK, findings[:1]) == "OK: 1 of 1 brokers answer; 1 checks | brokers=1"


def test_what_is_broken_is_worse_than_what_nobody_can_tell() -> None:
    findings = [
        CheckResult("lag_typo", Health.UNKNOWN, "no group typo"),
        *_brokers([status(0, "no answer")], 1, BOUNDS),
    ]
    assert _worst(findings) is Health.CRITICAL
    assert "no answer" in _line(_worst(findings), findings)


@pytest.mark.parametrize("option", [["--lag-warning", "5"], ["--lag-critical", "5"], ["--online"]])
def test_a_bound_of_groups_needs_a_group(option: list[str]) -> None:
    called = CliRunner().invoke(check, option)
    assert f"{option[0]} looks at groups: name them by --group" in called.output
    assert called.exit_code != 0
