"""What a check of a history has found, and what a system promises by its mode."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.fault.history.events import Call, History


@dataclass(frozen=True, slots=True)
class Finding:
    """`rule` is one of the names in `checker.py`."""

    rule: str
    text: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.text}"


@dataclass(frozen=True)
class Promises:
    """What a fault may take: of the last so many milliseconds before it, by its kind; nothing where it is not named.

    A fault in `repeats` may bring again what was delivered: delays, POP, and committed offsets that go back.
    """

    may_lose_ms: Mapping[str, int] = field(default_factory=dict)
    repeats: frozenset[str] = frozenset({"kill", "power", "error"})
    #: A delay may come so much too early or too late; a lease and an invisible time end so exactly.
    early_ms: int = 0
    late_ms: int = 5_000
    slack_ms: int = 0


@dataclass
class Losses:
    """Which acknowledged calls a fault may have undone."""

    history: History
    promises: Promises
    faults: list[Call] = field(init=False)

    def __post_init__(self) -> None:
        self.faults = list(self.history.of("fault"))

    def fault_behind(self, call: Call) -> Call | None:
        """The fault that may have taken what `call` did."""
        for fault in self.faults:
            window = self.promises.may_lose_ms.get(fault["kind"], 0)
            if window and fault.ended > call.begun and call.ended_ms >= fault.begun_ms - window:
                return fault
        return None

    def repeated_between(self, earlier: Call, later: Call) -> bool:
        """Whether a fault between the two may bring again what the earlier had settled."""
        return any(
            fault["kind"] in self.promises.repeats and fault.ended > earlier.begun and fault.begun < later.ended
            for fault in self.faults
        )

    def any_between(self, earlier: Call, later: Call) -> bool:
        return any(fault.ended > earlier.begun and fault.begun < later.ended for fault in self.faults)
