"""OpenTelemetry: spans and metrics of sends and of handlers, by the messaging conventions.

Telemetry is a hook like any other. Producers and consumers put it in by themselves when the application has set an
OpenTelemetry SDK up before they start; without one nothing is imported and nothing is paid.

The context of a send travels in the message's properties (`traceparent`); a consumer's span links to it, for one
handler call may take messages of many senders. OTEL_SEMCONV_STABILITY_OPT_IN chooses between the older names of
RocketMQ's attributes (`messaging.rocketmq.*`) and the newer (`rocketmq.*`): `messaging`, or `messaging/dup` for both.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import Any

from opentelemetry import context as otel_context
from opentelemetry import metrics, propagate, trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode

from sprocketmq import __version__
from sprocketmq.client.telemetry.hooks import ConsumeContext, SendContext

SYSTEM = "rocketmq"
_SCOPE = "sprocketmq.client"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
_TYPES = {"delay": "delay", "half": "transaction", "order": "fifo"}


class Telemetry:
    """`tracer_provider` and `meter_provider` default to the global ones."""

    def __init__(
        self,
        tracer_provider: trace.TracerProvider | None = None,
        meter_provider: metrics.MeterProvider | None = None,
    ) -> None:
        self._tracer = trace.get_tracer(_SCOPE, __version__, tracer_provider)
        meter = metrics.get_meter(_SCOPE, __version__, meter_provider)
        self._durations = meter.create_histogram(
            "messaging.client.operation.duration", "s", explicit_bucket_boundaries_advisory=_BUCKETS
        )
        self._processing = meter.create_histogram(
            "messaging.process.duration", "s", explicit_bucket_boundaries_advisory=_BUCKETS
        )
        self._sent = meter.create_counter("messaging.client.sent.messages", "{message}")
        self._consumed = meter.create_counter("messaging.client.consumed.messages", "{message}")
        self._prefixes = _prefixes(os.environ.get("OTEL_SEMCONV_STABILITY_OPT_IN", ""))

    # -- sends ------------------------------------------------------------------------------------------------------

    def before_send(self, context: SendContext) -> None:
        span = self._tracer.start_span(
            f"send {context.topic}", kind=SpanKind.PRODUCER, attributes=dict(self._send_attributes(context))
        )
        context.state["span"] = span
        propagate.inject(context.properties, trace.set_span_in_context(span))

    def after_send(self, context: SendContext) -> None:
        span: Span = context.state["span"]
        labels = _labels("send", "send", context.topic, context.error)
        self._durations.record(context.ended - context.started, labels)
        if context.receipt is not None:
            span.set_attribute("messaging.message.id", context.receipt.message_id)
            span.set_attribute("messaging.destination.partition.id", str(context.receipt.queue.queue_id))
        if context.error is None:  # a oneway send has no receipt
            self._sent.add(len(context.messages), labels)
        _finish(span, context.error)

    # -- handlers ---------------------------------------------------------------------------------------------------

    def before_consume(self, context: ConsumeContext) -> None:
        links = [link for message in context.messages if (link := _link(message.properties)) is not None]
        span = self._tracer.start_span(
            f"process {context.topic}",
            kind=SpanKind.CONSUMER,
            links=links,
            attributes=dict(self._consume_attributes(context)),
        )
        context.state["span"] = span
        context.state["token"] = otel_context.attach(trace.set_span_in_context(span))

    def after_consume(self, context: ConsumeContext) -> None:
        otel_context.detach(context.state["token"])
        labels = _labels("process", "process", context.topic, context.error)
        labels["messaging.consumer.group.name"] = context.group
        self._processing.record(context.ended - context.started, labels)
        self._consumed.add(len(context.messages), labels)
        span: Span = context.state["span"]
        span.set_attribute("sprocketmq.consume.result", context.result)
        _finish(span, context.error)

    # -- attributes -------------------------------------------------------------------------------------------------

    def _send_attributes(self, context: SendContext) -> Iterator[tuple[str, Any]]:
        yield from _labels("send", "send", context.topic, None).items()
        if len(context.messages) > 1:
            yield "messaging.batch.message_count", len(context.messages)
        message = context.messages[0]
        yield "messaging.message.body.size", sum(len(each.body) for each in context.messages)
        own = {
            "message.tag": message.tag,
            "message.keys": list(message.keys) or None,
            "message.type": _TYPES.get(context.kind, "normal"),
            "message.delay_time_level": message.delay_level or None,
            "client_group": context.group,
        }
        yield from self._own(own)

    def _consume_attributes(self, context: ConsumeContext) -> Iterator[tuple[str, Any]]:
        yield from _labels("process", "process", context.topic, None).items()
        yield "messaging.consumer.group.name", context.group
        if len(context.messages) > 1:
            yield "messaging.batch.message_count", len(context.messages)
        else:
            message = context.messages[0]
            yield "messaging.message.id", message.message_id
            yield from self._own({"message.tag": message.tag, "message.keys": list(message.keys) or None})

    def _own(self, values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        """RocketMQ's own attributes, under the names that were asked for."""
        for prefix in self._prefixes:
            for name, value in values.items():
                if value is not None:
                    yield prefix + name, value


def _prefixes(opt_in: str) -> tuple[str, ...]:
    chosen = {part.strip() for part in opt_in.split(",")}
    if "messaging/dup" in chosen:
        return "messaging.rocketmq.", "rocketmq."
    return ("rocketmq.",) if "messaging" in chosen else ("messaging.rocketmq.",)


def _labels(name: str, kind: str, topic: str, error: BaseException | None) -> dict[str, Any]:
    labels: dict[str, Any] = {
        "messaging.system": SYSTEM,
        "messaging.operation.name": name,
        "messaging.operation.type": kind,
        "messaging.destination.name": topic,
    }
    if error is not None:
        labels["error.type"] = type(error).__qualname__
    return labels


def _link(properties: Mapping[str, str]) -> Link | None:
    span_context = trace.get_current_span(propagate.extract(properties)).get_span_context()
    return Link(span_context) if span_context.is_valid else None


def _finish(span: Span, error: BaseException | None) -> None:
    if error is not None:
        span.record_exception(error)
        span.set_attribute("error.type", type(error).__qualname__)
        span.set_status(Status(StatusCode.ERROR, str(error)))
    span.end()
