"""`make demo`: what the project does, end to end, in about a minute."""

from __future__ import annotations

from sprocketmq import __version__, _pure
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame import FrameDecoder, encode_frame


def main() -> None:
    print(f"sprocketmq {__version__}, {_pure.form()}")
    request = Command(RequestCode.GET_ROUTEINFO_BY_TOPIC, opaque=7, ext_fields={"topic": "orders"})
    frame = encode_frame(request)
    (decoded,) = FrameDecoder().feed(frame)
    print(f"{len(frame)} bytes on the wire: {frame!r}")
    print(f"decoded: {decoded!r}")
    assert decoded.ext_fields == request.ext_fields


if __name__ == "__main__":
    main()
