"""Where a controller's state is kept, and who of several controllers leads. Only controllers know of it.

An engine is three calls, so that another can be added without touching the rules:

    lead     who leads, now and at every change; this process takes part in the contest as long as it iterates
    load     every record, to be asked after leadership was gained and after an `EngineFailed`; a swap that was not
             answered before has happened by now, or never will
    swap     replace one record if it still is what was expected and this process still leads; else nothing happens
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Protocol

from sprocketmq.controller.broker_set import BrokerSet
from sprocketmq.errors import SprocketError


class EngineFailed(SprocketError):
    """The engine did not answer, or the record is not what was expected: what is kept is to be loaded anew."""

    retriable = True


class NotLeading(SprocketError):
    """This controller's leadership has ended: nothing was written."""


@dataclass(frozen=True, slots=True)
class Member:
    """One controller: its id among its peers, and where it listens."""

    member_id: str
    address: str


class Engine(Protocol):
    async def start(self) -> None:
        """Raises SprocketError when this process cannot have it."""
        ...

    async def stop(self) -> None: ...

    def lead(self, own: Member) -> AsyncIterator[Member | None]:
        """None while nobody leads, as far as can be told."""
        ...

    async def load(self) -> dict[str, BrokerSet]: ...

    async def swap(self, expected: BrokerSet | None, new: BrokerSet | None) -> None:
        """At least one of the two names the set; `expected` None creates, `new` None deletes."""
        ...
