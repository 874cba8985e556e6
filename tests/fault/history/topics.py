"""Topics with a generation: what was sent before a deletion is gone for good, what comes after begins anew.

back-from-the-dead   a message is read after the deletion of its topic was acknowledged
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.fault.history.events import Call, History
from tests.fault.history.findings import Finding


@dataclass
class Generations:
    """Which generation of a topic a call belongs to; a deletion that nobody can be sure of makes it uncertain."""

    history: History
    _deletes: dict[str, list[Call]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for call in self.history.of("delete"):
            if call.kind != "fail":
                self._deletes[call["topic"]].append(call)

    def of(self, call: Call) -> int:
        """How many deletions had begun when the call began."""
        return sum(delete.begun < call.begun for delete in self._deletes.get(call["topic"], ()))

    def certain(self, call: Call) -> bool:
        """Whether no deletion was under way meanwhile, and none of unknown outcome came later."""
        return not any(
            (delete.begun < call.ended and delete.ended > call.begun)
            or (not delete.is_ok and delete.ended > call.begun)
            for delete in self._deletes.get(call["topic"], ())
        )

    def deleted_after(self, call: Call) -> Call | None:
        """The first acknowledged deletion that began after the call ended."""
        return next((one for one in self._deletes.get(call["topic"], ()) if one.is_ok and call.before(one)), None)

    def lives(self, call: Call) -> bool:
        """Whether no deletion at all began after the call did."""
        return not any(delete.ended > call.begun for delete in self._deletes.get(call["topic"], ()))


def check_topics(history: History, generations: Generations) -> Iterator[Finding]:
    sender: dict[str, Call] = {}
    for call in history.of("send", "half", "delay", "sink"):
        for uid in call.fields.get("uids") or [call.fields.get("uid")]:
            sender.setdefault(uid, call)
    for read in history.ok("read"):
        for offset, uid in read["found"]:
            sent = sender.get(uid)
            if sent is None or sent["topic"] != read["topic"]:
                continue
            deletion = generations.deleted_after(sent)
            if deletion is not None and deletion.before(read):
                yield Finding("back-from-the-dead", f"{uid} at {offset} by {read}, deleted by {deletion}")
