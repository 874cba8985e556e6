"""Property text survives a round trip whenever its names and values may travel at all, and columns hold the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sprocketmq.protocol.arrow.columns import decode_columns
from sprocketmq.protocol.record.properties import decode_properties, encode_properties
from sprocketmq.protocol.record.record import Record, encode_record

NAMES = st.text(st.characters(exclude_characters="\x01\x02", exclude_categories=["Cs"]), min_size=1, max_size=20)
VALUES = st.text(st.characters(exclude_characters="\x02", exclude_categories=["Cs"]), min_size=1, max_size=50)


@given(st.dictionaries(NAMES, VALUES))
def test_round_trip(properties: dict[str, str]) -> None:
    assert decode_properties(encode_properties(properties)) == properties


#: Rows that have much in common: names that go on alike, come twice or in another order, have no value or no end.
ENTRIES = st.sampled_from(
    [
        "a\x01v\x02",
        "b\x01w\x02",
        "ab\x01v\x02",
        "TAGS\x01t\x02",
        "TAGS\x01\x02",
        "TAGS\x01u",
        "a\x01\x02",
        "a",
        "\x02",
        "b\x01\xff\x02",
    ]
)
TEXTS = st.lists(ENTRIES, max_size=5).map(lambda entries: "".join(entries).encode("latin-1"))


@given(st.lists(TEXTS, min_size=1, max_size=8))
def test_columns_hold_what_each_row_says(texts: list[bytes]) -> None:
    data = b"".join(encode_record(Record(topic="t", body=b"b", properties=text)) for text in texts)
    batch = decode_columns(data, columns=("properties", "tags"))
    wanted = [decode_properties(text) for text in texts]
    assert batch.column("properties").to_pylist() == [list(row.items()) for row in wanted]
    for tags in (batch.column("tags"), decode_columns(data, columns=("tags",)).column("tags")):
        assert tags.to_pylist() == [row.get("TAGS") for row in wanted]
