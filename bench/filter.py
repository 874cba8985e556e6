"""Nanoseconds per message for typical SQL92 expressions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bench.timing import alternate

from sprocketmq.filter.sql import compile_sql

ROUNDS = 20_000
PROPERTIES = {"price": "120", "region": "eu", "rate": "1.5", "UNIQ_KEY": "0A0000010000", "TAGS": "TagA"}
EXPRESSIONS = [
    "region = 'eu'",
    "price > 100",
    "rate >= 1.25",
    "price BETWEEN 100 AND 200",
    "region IN ('eu', 'us')",
    "price > 100 AND region = 'eu' AND rate < 2.5",
]


def repeated(evaluate: Callable[[dict[str, str]], object]) -> None:
    for _ in range(ROUNDS):
        evaluate(PROPERTIES)


def main() -> None:
    candidates = {text: partial(repeated, compile_sql(text).evaluate) for text in EXPRESSIONS}
    for text, seconds in alternate(candidates).items():
        print(f"{seconds / ROUNDS * 1e9:8.0f} ns  {text}")


if __name__ == "__main__":
    main()
