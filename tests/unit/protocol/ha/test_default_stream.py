from __future__ import annotations

import pytest
from tests.unit.protocol.ha.golden_streams import DEFAULT, in_every_split, recorded

from sprocketmq.errors import FrameError
from sprocketmq.protocol.ha.default_stream import (
    LogFrame,
    ReportDecoder,
    TransferDecoder,
    encode_frame_header,
    encode_report,
)
from sprocketmq.protocol.ha.stream_buffer import MAX_BODY_BYTES

REPORTS, FRAMES = recorded("default", "c2s.bin"), recorded("default", "s2c.bin")


def test_reports_of_a_java_slave() -> None:
    ends = in_every_split(ReportDecoder, REPORTS)
    assert ends == [report["logEnd"] for report in DEFAULT["reports"]]
    assert b"".join(map(encode_report, ends)) == REPORTS


def test_frames_of_a_java_master() -> None:
    frames = in_every_split(TransferDecoder, FRAMES)
    assert [(frame.offset, len(frame.body)) for frame in frames] == [
        (frame["offset"], frame["size"]) for frame in DEFAULT["frames"]
    ]
    encoded = [encode_frame_header(frame.offset, len(frame.body)) + frame.body for frame in frames]
    assert b"".join(encoded) == FRAMES


def test_bodies_joined_are_the_log() -> None:
    end = 0
    for frame in TransferDecoder().feed(FRAMES):
        assert frame.offset == end
        end += len(frame.body)
    assert end == DEFAULT["reports"][-1]["logEnd"]


def test_the_largest_body_passes() -> None:
    body = bytes(MAX_BODY_BYTES)
    assert TransferDecoder().feed(encode_frame_header(7, len(body)) + body) == [LogFrame(7, body)]


@pytest.mark.parametrize("header", [(0, MAX_BODY_BYTES + 1), (0, -1), (-1, 0), (-(2**63), 5)])
def test_a_header_that_cannot_be_ends_the_stream(header: tuple[int, int]) -> None:
    with pytest.raises(FrameError):
        TransferDecoder().feed(encode_frame_header(*header))


def test_a_negative_report_ends_the_stream() -> None:
    with pytest.raises(FrameError, match="log end is -1"):
        ReportDecoder().feed(encode_report(-1))
