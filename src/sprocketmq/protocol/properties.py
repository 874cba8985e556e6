"""Message properties as text: `name \x01 value \x02`, repeated."""

from __future__ import annotations

from collections.abc import Mapping

NAME_VALUE = "\x01"
PROPERTY = "\x02"

KEYS = "KEYS"
TAGS = "TAGS"
WAIT = "WAIT"
DELAY = "DELAY"
RETRY_TOPIC = "RETRY_TOPIC"
REAL_TOPIC = "REAL_TOPIC"
REAL_QUEUE_ID = "REAL_QID"
UNIQUE_KEY = "UNIQ_KEY"


def encode_properties(properties: Mapping[str, str]) -> str:
    return "".join(f"{name}{NAME_VALUE}{value}{PROPERTY}" for name, value in properties.items())


def decode_properties(text: str) -> dict[str, str]:
    """A piece with an empty name or an empty value is dropped; of two with one name the later wins."""
    properties: dict[str, str] = {}
    for piece in text.split(PROPERTY):
        name, separator, value = piece.partition(NAME_VALUE)
        if separator and name and value:
            properties[name] = value
    return properties
