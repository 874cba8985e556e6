"""Mistakes that somebody could make: a test plants each, and the checker must find it."""

from __future__ import annotations

from enum import Enum


class Flaw(Enum):
    PROMISE_ALONE = "a master promises what no other has"
    FORGET_REQUESTED = "a master waits only for the set it knows, not for those it asked for"
    FORGET_COPIES = "a master takes a set for refused of which an earlier copy was granted"
    JOIN_BEHIND = "a master lets a replica in that lacks what was promised"
    ALONE_ON_BROKEN_DISK = "a master whose disk has failed makes itself the only one in the set"
    KEEP_TAIL = "a replica goes on behind a tail that its new master never had"
    CUT_LAZILY = "a replica does not sync the cut of such a tail"
    REPORT_UNASKED = "a replica reports its log before it knows what of it is its master's too"
    CLAIM_MORE = "a replica reports what it was sent before it has it"
    ELECT_ANYONE = "the controller elects who is not in sync"
    OLD_EPOCH_AGAIN = "a master that comes up again goes on in its old epoch"
    DEPOSED_WRITES = "a controller writes although another leads"
    LATE_WRITES = "a change that a controller gave up for lost comes into force after it decided otherwise"
    HASTY_HEARTBEAT = "a broker is heard of before it has told what it lost"
    SILENT_BOOT = "a broker does not tell that a power cut may have cost it its tail"
    LESS_LOG_AGAIN = "the controller elects who came back with less log than it had confirmed"
    EMPTY_BOOT = "a broker does not tell that its log is gone"
    READ_AHEAD = "a broker serves what is not confirmed"
    CUT_AT_PROMOTION = "a new master cuts what it has not seen confirmed"
    DECIDE_TWICE = "a transaction whose end is asked for again ends again"
    STORE_TWICE = "a message is stored twice"
    OFFSETS_TO_END = "a new master takes the end of a queue for what was consumed"
    SWAP_ENTRIES = "entries reach a replica in another order"
