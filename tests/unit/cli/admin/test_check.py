from __future__ import annotations

from sprocketmq.cli.admin.check import CheckResult, Health, Thresholds, _brokers, _line
from sprocketmq.client.admin.brokers import BrokerStatus

BOUNDS = Thresholds(75, 90)


def status(disk: float, error: str | None = None) -> BrokerStatus:
    return BrokerStatus("c", "broker-a", 0, "h:1", {} if error else {"commitLogDiskRatio": str(disk)}, error)


def worst(*statuses: BrokerStatus, wanted: int = 1) -> Health:
    return max(finding.health for finding in _brokers(list(statuses), wanted, BOUNDS))


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
