"""What compiling the codec is worth, and what Arrow columns cost, as ratios of one run.

    python bench/codec.py [--json]

The interpreted form runs in a child process that takes turns with this one, so that a slow spell of the machine hits
both. Columns are compared with a bare `zlib.crc32` call per record body.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
import zlib
from collections.abc import Callable

from sprocketmq.broker.send.answer import SendAnswers
from sprocketmq.codes import SerializeType
from sprocketmq.hot import loader
from sprocketmq.protocol.arrow.columns import decode_columns
from sprocketmq.protocol.command import Command
from sprocketmq.protocol.frame.decoder import FrameDecoder, encode_frame
from sprocketmq.protocol.record.crc import body_crc
from sprocketmq.protocol.record.record import Record, decode_record, encode_record
from sprocketmq.protocol.requests.send import decode_send
from sprocketmq.store.log.append import PutResult

ROUNDS = 7
RUN_RECORDS = 10_000

PROPERTIES = (
    "KEYS\x01ORD-1000\x02UNIQ_KEY\x01C0000202561E5FFD2B274C4719A50000\x02WAIT\x01true\x02TAGS\x01TagC\x02"
    "MSG_REGION\x01DefaultRegion\x02TRACE_ON\x01true\x02CLUSTER\x01DefaultCluster\x02"
)
SEND_FIELDS = {
    "a": "PID_orders", "b": "orders", "c": "TBW102", "d": "4", "e": "1", "f": "0", "g": "1700000000123",
    "h": "0", "i": PROPERTIES[:70], "j": "0", "k": "false", "m": "false",
}  # fmt: skip
SEND, JSON_SEND = (
    encode_frame(Command(310, opaque=7, body=b"x" * 128, serialize_type=form, ext_fields=SEND_FIELDS))
    for form in (SerializeType.ROCKETMQ, SerializeType.JSON)
)
RECORD = Record(
    topic="orders", body=b"x" * 128, queue_id=1, queue_offset=42, commit_offset=1 << 30,
    born_timestamp=1700000000000, born_host=bytes.fromhex("7f0000010000c3cb"), store_timestamp=1700000000001,
    store_host=bytes.fromhex("7f00000100002a9f"), properties=PROPERTIES.encode(),
)  # fmt: skip
STORED = encode_record(RECORD)
LARGE = bytes(range(256)) * 16
ANSWERS = SendAnswers("7F00000100002A9F", "DefaultRegion", True)
STORED_AT = PutResult(0, commit_offset=0x1A00, size=len(STORED), queue_offset=42, count=1)
KEY = b"C0000202561E5FFD2B274C4719A50000"


def send_and_reply(decoder: FrameDecoder, frame: bytes) -> None:
    (command,) = decoder.feed(frame)
    decode_send(command)
    ANSWERS.encode(command, 1, STORED_AT, KEY, 0, len(KEY), None)


def seconds(run: Callable[[], object], times: int) -> float:
    """Per call, the best of three."""
    best = float("inf")
    for _ in range(3):
        begin = time.perf_counter()
        for _ in range(times):
            run()
        best = min(best, (time.perf_counter() - begin) / times)
    return best


def measure() -> dict[str, float]:
    decoder, times = FrameDecoder(), 20_000 if loader.form() == "compiled" else 1_000
    return {
        "send": seconds(lambda: send_and_reply(decoder, SEND), times),
        "json send": seconds(lambda: send_and_reply(decoder, JSON_SEND), times),
        "record decode": seconds(lambda: decode_record(STORED), times),
        "record encode": seconds(lambda: encode_record(RECORD), times),
    }


def measure_columns() -> dict[str, float]:
    """Seconds per record."""
    run, bodies = STORED * RUN_RECORDS, [RECORD.body] * RUN_RECORDS

    def bare_crc() -> None:
        for body in bodies:
            zlib.crc32(body)

    return {
        "columns": seconds(lambda: decode_columns(run), 3) / RUN_RECORDS,
        "crc32": seconds(bare_crc, 3) / RUN_RECORDS,
        "our crc of 4 KB": seconds(lambda: body_crc(LARGE), RUN_RECORDS),
        "crc32 of 4 KB": seconds(lambda: zlib.crc32(LARGE), RUN_RECORDS),
    }


def child() -> None:
    for _ in sys.stdin:
        print(json.dumps(measure()), flush=True)


def take_turns() -> dict[str, dict[str, float]]:
    environment = {**os.environ, "SPROCKETMQ_PURE": "1"}
    spent: dict[str, list[dict[str, float]]] = {"compiled": [], "interpreted": [], "arrow": []}
    with subprocess.Popen(
        [sys.executable, __file__, "--child"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as other:
        assert other.stdin is not None
        assert other.stdout is not None
        for _ in range(ROUNDS):
            spent["compiled"].append(measure())
            print("go", file=other.stdin, flush=True)
            spent["interpreted"].append(json.loads(other.stdout.readline()))
            spent["arrow"].append(measure_columns())
        other.stdin.close()
    return {
        form: {name: statistics.median(r[name] for r in rounds) for name in rounds[0]} for form, rounds in spent.items()
    }


def main() -> None:
    if "--child" in sys.argv:
        child()
        return
    if loader.form() != "compiled":
        sys.exit("compile first: python setup.py build_ext --inplace")
    figures = take_turns()
    fast, slow, arrow = figures["compiled"], figures["interpreted"], figures["arrow"]
    ratios = {name: slow[name] / fast[name] for name in fast}
    ratios["columns / crc32"] = arrow["columns"] / arrow["crc32"]
    ratios["our crc / crc32"] = arrow["our crc of 4 KB"] / arrow["crc32 of 4 KB"]
    if "--json" in sys.argv:
        print(json.dumps({"seconds": figures, "ratios": ratios}))
        return
    for name, wanted in (("send", 6), ("json send", 6), ("record decode", 8), ("record encode", 8)):
        times = f"{slow[name] * 1e6:8.2f} us interpreted, {fast[name] * 1e6:6.2f} us compiled"
        print(f"{name:16} {times}: {ratios[name]:5.1f}x  (at least {wanted}x)")
    times = f"{arrow['columns'] * 1e9:8.0f} ns a record, {arrow['crc32'] * 1e9:6.0f} ns a bare crc32"
    print(f"{'arrow columns':16} {times}: {ratios['columns / crc32']:5.1f}x  (at most 4x)")
    times = f"{arrow['our crc of 4 KB'] * 1e9:8.0f} ns ours, {arrow['crc32 of 4 KB'] * 1e9:12.0f} ns zlib.crc32"
    print(f"{'crc of 4 KB':16} {times}: {ratios['our crc / crc32']:5.1f}x")


if __name__ == "__main__":
    main()
