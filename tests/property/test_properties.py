"""Property text survives a round trip whenever its names and values may travel at all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.protocol.properties import decode_properties, encode_properties

NAMES = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=20)
VALUES = st.text(st.characters(exclude_characters="\x02", exclude_categories=["Cs"]), min_size=1, max_size=50)


@given(st.dictionaries(NAMES, VALUES))
def test_round_trip(properties: dict[str, str]) -> None:
    assert decode_properties(encode_properties(properties)) == properties
