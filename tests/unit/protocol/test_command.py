from __future__ import annotations

from sprocketmq.codes import FLAG_ONEWAY, FLAG_RESPONSE, SerializeType
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame


def test_the_flag_bits() -> None:
    assert Command(1, flag=FLAG_RESPONSE).is_response
    assert Command(1, flag=FLAG_ONEWAY).is_oneway
    assert not Command(1).is_response
    assert not Command(1).is_oneway


def test_ext_fields_of_a_binary_frame_may_be_read_changed_and_replaced() -> None:
    data = encode_frame(Command(1, ext_fields={"a": "b"}, serialize_type=SerializeType.ROCKETMQ))
    (command,) = FrameDecoder().feed(data)
    assert command.ext_fields == {"a": "b"}
    assert command.ext_fields is command.ext_fields
    command.ext_fields["c"] = "d"
    (changed,) = FrameDecoder().feed(encode_frame(command))
    assert changed.ext_fields == {"a": "b", "c": "d"}
    changed.ext_fields = None
    (emptied,) = FrameDecoder().feed(encode_frame(changed))
    assert emptied.ext_fields is None


def test_repr_names_what_matters() -> None:
    assert repr(Command(34, opaque=5)) == "<Command request code=34 opaque=5 ext=None body=0>"
    assert "oneway" in repr(Command(34, flag=FLAG_ONEWAY))
    assert "response" in repr(Command(34).reply())
