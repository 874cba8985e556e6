"""Address patterns of RocketMQ 4's white lists.

    blank                                nothing
    *  *.*.*.*  *:*:*:*:*:*:*:*          everything
    1.2.3.4   2001:db8::7                that one
    1.2.3.4,1.2.3.5   1.2.3.{4,5}        each of them
    1.2.3.*  1.2.3.7-20  1.2.7-20.*      a range; what stands behind the first `*` or range is not looked at
    2001:db8:0:0:0:0:1-20:*              the same in the last two groups, in hexadecimal; behind the last but one a `*`

Patterns that RocketMQ loads, and on which every request of everybody then fails (`1*.2.3.4`, `1.2.3.0-0`), are
refused here when they are read.
"""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import IPv4Address, IPv6Address

from sprocketmq.errors import ConfigError

Matcher = Callable[[str], bool]


def parse_pattern(pattern: str | None) -> Matcher:
    """Tells of a peer's address whether the pattern has it; ConfigError when it is no pattern."""
    text = pattern or ""
    if not text.strip():
        return lambda _address: False
    if text in ("*", "*.*.*.*", "*:*:*:*:*:*:*:*"):
        return lambda _address: True
    if text.endswith("}"):
        return _listed(_braces(text))
    if "," in text:
        return _listed([part for part in text.split(",") if part])
    if "*" in text or "-" in text:
        return _range(text)
    return _listed([text])


def _braces(text: str) -> list[str]:
    head, brace, rest = text.rpartition("{")
    if not brace or not head.endswith((".", ":")):
        raise _wrong(text)
    return [head + last for last in rest[:-1].split(",") if last]


def _listed(addresses: list[str]) -> Matcher:
    known = frozenset(_checked(address) for address in addresses)
    return lambda address: canonical(address) in known


def _checked(address: str) -> str:
    found = canonical(address)
    if found is None:
        raise _wrong(address)
    return found


def canonical(address: str) -> str | None:
    """An address in its one form, IPv6 in full; None when it is none. An IPv4 address in IPv6 clothes stays that."""
    try:
        return str(IPv4Address(address))
    except ValueError:
        pass
    try:
        return IPv6Address(address.partition("%")[0]).exploded
    except ValueError:
        return None


def _range(text: str) -> Matcher:
    separator, base, top, places = (":", 16, 0xFFFF, 8) if ":" in text else (".", 10, 255, 4)
    parts = _expanded(text, places) if separator == ":" else text.split(".")
    if parts is None or len(parts) != places:
        raise ConfigError(f"Netaddress examine scope Exception netaddress is {text}")
    first = next(index for index, part in enumerate(parts) if "*" in part or "-" in part)
    if first < (places - 2 if separator == ":" else 1):
        raise _wrong(text)
    if separator == ":" and any(part != "*" for part in parts[first + 1 :]):
        raise ConfigError(f"Netaddress examine scope Exception netaddress is {text}")
    low, high = _bounds(parts[first], base, top, text)
    head = [_number(part, base, top, text) for part in parts[:first]]
    return lambda address: _lies_in(address, separator, base, head, low, high)


def _expanded(text: str, places: int) -> list[str] | None:
    """The groups of an IPv6 pattern with `::` written out; None when it cannot be."""
    head, gap, tail = text.partition("::")
    parts = [part for part in head.split(":") if part]
    if not gap:
        return parts
    rest = [part for part in tail.split(":") if part]
    missing = places - len(parts) - len(rest)
    if missing < 1 or "::" in tail:
        return None
    return [*parts, *["0"] * missing, *rest]


def _bounds(part: str, base: int, top: int, text: str) -> tuple[int, int]:
    if part == "*":
        return 0, top
    words = part.split("-")
    if "*" in part or len(words) < 2:
        raise _wrong(text)
    low, high = _number(words[0], base, top, text), _number(words[1], base, top, text)
    if low > high or high == 0:
        raise _wrong(text)
    return low, high


def _number(word: str, base: int, top: int, text: str) -> int:
    try:
        value = int(word, base)
    except ValueError:
        raise _wrong(text) from None
    if not 0 <= value <= top or not word.isalnum():
        raise _wrong(text)
    return value


def _lies_in(address: str, separator: str, base: int, head: list[int], low: int, high: int) -> bool:
    found = canonical(address)
    if found is None or separator not in found:
        return False
    numbers = [int(part, base) for part in found.split(separator)]
    return numbers[: len(head)] == head and low <= numbers[len(head)] <= high


def _wrong(text: str) -> ConfigError:
    return ConfigError(f"Netaddress examine Exception netaddress is {text}")
