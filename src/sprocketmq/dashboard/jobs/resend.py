"""Giving dead letters back to the group that gave up on them: a job, for there may be very many."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from sprocketmq.client.options import ClientOptions
from sprocketmq.dashboard.cluster import dead_letters
from sprocketmq.dashboard.cluster.view import ClusterView
from sprocketmq.dashboard.jobs.job import Job, Work
from sprocketmq.errors import SprocketError
from sprocketmq.theme.numbers import counted


def resend(options: ClientOptions, group: str, places: Sequence[str] | None, note: Callable[[int, str], None]) -> Work:
    """Those at `places`, or all that are there when it begins. `note` is told how many went, and how it ended.

    It asks with the keys of whoever started it, by a client of its own: signing out does not end it.
    """

    async def work(job: Job) -> bool:
        view, sent, outcome = ClusterView(options), 0, "canceled"
        await view.start()
        try:
            found = await dead_letters.of(view, group)
            total = found.count if places is None else len(places)
            every = dead_letters.every(view, found) if places is None else dead_letters.chosen(view, group, places)
            async for message in every:
                await view.admin.messages.give_back(group, message)
                sent += 1
                job.reach(sent, total, f"{sent:,} of {counted(total, 'message')}")
            outcome = "done"
        except SprocketError as error:
            outcome = f"failed: {error}"
            raise
        finally:
            job.said = f"{counted(sent, 'message')} {'was' if sent == 1 else 'were'} resent to {group}."
            note(sent, outcome)
            await view.stop()
        return True

    return work
