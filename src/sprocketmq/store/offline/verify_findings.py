"""What a check of a store finds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum


class Severity(StrEnum):
    """ERROR is damage or a contradiction. RECOVERABLE is what a crash leaves and the next start of a broker repairs."""

    ERROR = "error"
    RECOVERABLE = "recoverable"


@dataclass(frozen=True, slots=True)
class Finding:
    """Something wrong at byte `offset` of `file`, a path relative to the store."""

    file: str
    offset: int
    what: str
    severity: Severity = Severity.ERROR

    def __str__(self) -> str:
        return f"{self.file} at {self.offset}: {self.what}"

    def row(self) -> dict[str, str | int]:
        return asdict(self)
