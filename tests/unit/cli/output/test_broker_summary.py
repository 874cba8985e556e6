from __future__ import annotations

from sprocketmq.cli.output.broker_summary import summary


def test_what_a_person_looks_for() -> None:
    figures = {
        "brokerVersionDesc": "V5_3_3", "bootTimestamp": "1700000000000", "putTps": "1.5 2.0 3.0",
        "commitLogMinOffset": "10", "commitLogMaxOffset": "30", "commitLogDiskRatio": "0.7",
    }  # fmt: skip
    row = summary(figures)
    assert (row["version"], row["in_per_second"], row["log_bytes"], row["disk"]) == ("V5_3_3", 1.5, 20, 0.7)
    assert row["started"].year == 2023


def test_who_is_not_apaches() -> None:
    """The version alone would not tell: tools look at it, and ours is that of the RocketMQ it is like."""
    assert summary({"brokerVersionDesc": "V5_3_3"})["version"] == "V5_3_3"
    ours = {"brokerVersionDesc": "V5_3_3", "brokerImplementation": "SprocketMQ"}
    assert summary(ours)["version"] == "V5_3_3 (SprocketMQ)"


def test_a_broker_that_tells_little() -> None:
    row = summary({})
    assert row["log_bytes"] is None
    assert row["disk"] is None
