"""Questions before something is lost."""

from __future__ import annotations

import click

from sprocketmq.errors import SprocketError


def confirm(question: str) -> None:
    """Returns when the answer is yes."""
    if not click.confirm(question, err=True):
        raise SprocketError("aborted: nothing was changed")
