"""A server's signatures against those of the standard library: any secret, any fields, any body."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sprocketmq.auth.authentication.signed_fields import SignedFields, SigningKey
from sprocketmq.codes import SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)
FIELDS = st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), TEXT, max_size=20)
#: Around the ends of blocks: nine bytes of padding make one more of them.
BODIES = st.one_of(st.binary(max_size=400), st.integers(0, 200).map(bytes), st.just(b"x" * 70_000))


def java_order(key: str) -> bytes:
    return key.encode("utf-16-be", "surrogatepass")


def expected(fields: dict[str, str], body: bytes, secret: str) -> str:
    content = "".join(fields[key] for key in sorted(fields, key=java_order)).encode() + body
    return base64.b64encode(hmac.digest(secret.encode(), content, hashlib.sha1)).decode()


@pytest.mark.parametrize("is_portable", [False, True], ids=["processor's", "portable"])
@given(fields=FIELDS, body=BODIES, secret=st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=90))
@example(fields={}, body=b"", secret="s")
@example(fields={"k": "x" * 55}, body=b"", secret="s" * 64)
@example(fields={"k": "x" * 56}, body=b"", secret="s" * 65)
@example(fields={"k": "x" * 63}, body=b"y" * 65, secret="s")
def test_signatures_are_those_of_hashlib(is_portable: bool, fields: dict[str, str], body: bytes, secret: str) -> None:
    fields = {key: value for key, value in fields.items() if key != "Signature"}
    right = expected(fields, body, secret)
    at = len(body) % 27
    wrong = right[:at] + ("B" if right[at] == "A" else "A") + right[at + 1 :]
    key = SigningKey(secret, is_portable)
    for signature, is_right in ((right, True), (wrong, False)):
        command = Command(
            10, ext_fields={**fields, "Signature": signature}, body=body, serialize_type=SerializeType.JSON
        )
        (received,) = FrameDecoder().feed(encode_frame(command))
        found = SignedFields()
        found.read(received)
        assert found.is_signed_with(key) is is_right


#: Alike at their beginnings and ends, and as long as the words that keys are compared by, or nearly.
KEYS = st.one_of(
    st.text("ab", max_size=3), st.builds(lambda n, end: "a" * n + end, st.integers(4, 18), st.sampled_from("ab"))
)
LIKE = st.dictionaries(KEYS, st.sampled_from(["", "x", "topic", "y" * 40]), max_size=6)
REQUESTS = st.lists(
    st.tuples(st.sampled_from([1, 17]), LIKE, st.sampled_from(list(SerializeType)), st.booleans()), max_size=8
)


@given(requests=REQUESTS, names=st.lists(KEYS, max_size=3, unique=True))
@example(requests=[(1, {"a": ""}, SerializeType.ROCKETMQ, False)] * 2, names=["a"])
@example(
    requests=[(1, {"a" * n: "x"}, kind, False) for n in (7, 8, 14, 15, 16) for kind in SerializeType], names=["a" * 15]
)
def test_a_request_is_read_the_same_whatever_came_before(
    requests: list[tuple[int, dict[str, str], SerializeType, bool]], names: list[str]
) -> None:
    """The header of the one before is what each is held against: so many that are nearly like it."""
    deciding = {code: [name.encode() for name in names] for code in (1, 17)}
    shared, key = SignedFields(deciding), SigningKey("secret")
    for code, fields, serialize_type, is_wrong in requests:
        keyed = {**fields, "AccessKey": "k"}
        signature = expected(keyed, b"body", "other" if is_wrong else "secret")
        command = Command(
            code, ext_fields={**keyed, "Signature": signature}, body=b"body", serialize_type=serialize_type
        )
        (received,) = FrameDecoder().feed(encode_frame(command))
        shared.read(received)
        assert shared.is_signed_with(key) is not is_wrong
        assert shared.access_key == b"k"
        assert shared.deciding_values() == code.to_bytes(4, "big") + b"".join(
            len(value).to_bytes(4, "big") + value.encode() if (value := keyed.get(name)) is not None else b"\xff" * 4
            for name in names
        )
        assert shared.has_deciding_values(shared.deciding_values())
