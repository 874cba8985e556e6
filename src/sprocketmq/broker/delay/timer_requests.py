"""Sends that ask for a time of delivery.

    TIMER_DELAY_SEC, TIMER_DELAY_MS    from now on
    TIMER_DELIVER_MS                   since 1970

The first that is there counts. The message gets TIMER_OUT_MS, the whole second before that time, and goes to the timer
topic; its sender gets a handle to recall it with.
"""

from __future__ import annotations

from sprocketmq.broker.delay.levels import level_of
from sprocketmq.broker.delay.recall import recall_handle, recalled_key
from sprocketmq.broker.delay.timer import QUEUE, Timer
from sprocketmq.broker.send.message import BrokerMessage
from sprocketmq.broker.settings import Settings
from sprocketmq.broker.system_topics.delivery import redirect
from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.protocol.names import TIMER_TOPIC, is_retry_topic
from sprocketmq.protocol.record.properties import (
    TIMER_DEL_UNIQKEY,
    TIMER_DELAY_MS,
    TIMER_DELAY_SEC,
    TIMER_DELIVER_MS,
    TIMER_OUT_MS,
    UNIQUE_KEY,
)
from sprocketmq.protocol.record.property_numbers import number_in
from sprocketmq.protocol.record.sysflag import is_queued
from sprocketmq.store.files.clock import Clock

_ASKED = (TIMER_DELAY_SEC, TIMER_DELAY_MS, TIMER_DELIVER_MS)


class TimedSends:
    def __init__(self, settings: Settings, timer: Timer, clock: Clock) -> None:
        self._settings = settings
        self._timer = timer
        self._clock = clock

    def intercept(self, message: BrokerMessage) -> None:
        """Let a message rest that asks for a time; a delay level wins over a timer."""
        properties = message.properties
        if not any(name in properties for name in _ASKED) or message.topic == TIMER_TOPIC:
            return
        if not is_queued(message.sys_flag):
            return
        if level_of(message) > 0:
            for name in _ASKED:
                properties.pop(name, None)
            return
        if TIMER_OUT_MS in properties:  # it has rested: a dead letter does not wait once more
            return
        config, now = self._settings.current, self._clock.now_ms()
        if not config.timer_wheel_enable:
            raise RequestRefused(
                ResponseCode.SYSTEM_ERROR, "this broker serves no timers; its timerWheelEnable is false"
            )
        deliver_ms = asked_time(properties, now)
        if deliver_ms is None or deliver_ms - now > config.timer_max_delay_sec * 1000:
            remark = f"a timer must name a time at most {config.timer_max_delay_sec} s away"
            raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, remark)
        if deliver_ms <= now:
            if TIMER_DEL_UNIQKEY in properties:
                raise RequestRefused(ResponseCode.MESSAGE_ILLEGAL, "its time is over")
            return
        out_ms = (deliver_ms - 1) // config.timer_precision_ms * config.timer_precision_ms
        properties[TIMER_OUT_MS] = str(out_ms)
        if TIMER_DEL_UNIQKEY in properties:
            properties[TIMER_DEL_UNIQKEY] = deleted_key(message.topic, properties[TIMER_DEL_UNIQKEY])
        if not is_retry_topic(message.topic):
            message.recall_handle = recall_handle(message.topic, config.broker_name, out_ms + 1, properties[UNIQUE_KEY])
        redirect(message, TIMER_TOPIC, QUEUE)
        message.on_stored.append(lambda _result: self._timer.arrived(properties.get(TIMER_DEL_UNIQKEY)))


def deleted_key(topic: str, key: str) -> str:
    """`topic+unique_key`, of a key that has no topic as well: who may send to a topic takes back what is timed there,
    and nothing of another one.
    """
    return key if key.startswith(recalled_key(topic, "")) else recalled_key(topic, key)


def asked_time(properties: dict[str, str], now: int) -> int | None:
    """When the message is to be delivered; None when what it says is no number."""
    for name, unit, start in ((TIMER_DELAY_SEC, 1000, now), (TIMER_DELAY_MS, 1, now), (TIMER_DELIVER_MS, 1, 0)):
        if name in properties:
            number = number_in(properties[name])
            return None if number is None else start + number * unit
    return None
