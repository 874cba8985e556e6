"""Writes docs/client-settings.md from the code: every setting of the client with its type, its default and its text.

python scripts/client_settings.py           writes the page
python scripts/client_settings.py --check   fails when the page is not what the code says
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any

from sprocketmq.client.options import ClientOptions, Credentials
from sprocketmq.client.settings import Batching, ConsumerSettings, FlowLimits, ProducerSettings, PullSettings

PAGE = Path(__file__).parents[1] / "docs" / "client-settings.md"

HEAD = """# Settings of the client

Made from the code by `scripts/client_settings.py`; a test holds it complete. Times are in seconds.
Every value is frozen: make a new one with `dataclasses.replace`. All classes are imported from `sprocketmq`.
"""

SECTIONS: dict[str, tuple[type, str]] = {
    "Connecting": (
        ClientOptions,
        'Keywords of every client: `Producer(group, nameserver, namespace="ns")`.',
    ),
    "Credentials": (Credentials, "Of `credentials=`; in a URL `rocketmq://KEY:SECRET@host`."),
    "ProducerSettings": (ProducerSettings, "Of `Producer(..., settings=ProducerSettings(...))`."),
    "Batching": (Batching, "Of `ProducerSettings(batching=Batching(...))`."),
    "ConsumerSettings": (ConsumerSettings, "Of `PushConsumer(..., settings=ConsumerSettings(...))`."),
    "FlowLimits": (
        FlowLimits,
        "Of `ConsumerSettings(limits=FlowLimits(...))`: how much may lie between a queue's pulls and its handlers.",
    ),
    "PullSettings": (PullSettings, "Of `PullConsumer(..., settings=PullSettings(...))`."),
}


def page() -> str:
    return "\n".join([HEAD, *(line for title in SECTIONS for line in section(title))])


def section(title: str) -> Iterator[str]:
    cls, intro = SECTIONS[title]
    texts = explained(cls)
    yield from (f"## {title}", "", intro, "", "| setting | type | default | |", "|---|---|---|---|")
    for each in fields(cls):
        kind = str(each.type).replace("|", "\\|")
        yield f"| `{each.name}` | `{kind}` | {default(each)} | {texts.get(each.name, '')} |"
    yield ""


def default(each: Field[Any]) -> str:
    value = each.default
    if value is MISSING:
        return ""
    if callable(value):
        return f"`{getattr(value, '__name__', type(value).__name__)}`"
    return f"`{type(value).__name__}()`" if type(value) in (cls for cls, _ in SECTIONS.values()) else f"`{value!r}`"


def explained(cls: type) -> dict[str, str]:
    """Field to the text that stands below it in the source."""
    (tree,) = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(tree, ast.ClassDef)
    found: dict[str, str] = {}
    for statement, below in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            match below:
                case ast.Expr(value=ast.Constant(value=str() as text)):
                    found[statement.target.id] = " ".join(text.split())
    return found


if __name__ == "__main__":
    if "--check" not in sys.argv:
        PAGE.write_text(page())
    elif PAGE.read_text() != page():
        raise SystemExit(f"{PAGE.name} is not what the code says: run {Path(__file__).name}")
