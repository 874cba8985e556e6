from __future__ import annotations

import asyncio

import pytest
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode, get_current_span
from tests.unit.client.fakes import FakeTransport, instance, route, routes, stored, stores

from sprocketmq.client.message import Message, SendReceipt, SendStatus
from sprocketmq.client.producer.batcher import Batcher
from sprocketmq.client.producer.encoder import Encoder
from sprocketmq.client.producer.sender import Sender
from sprocketmq.client.received import split_records
from sprocketmq.client.settings import ProducerSettings
from sprocketmq.client.telemetry.hooks import ConsumeContext, SendContext
from sprocketmq.client.telemetry.otel import Telemetry
from sprocketmq.codes import RequestCode
from sprocketmq.protocol.message_queue import MessageQueue
from sprocketmq.protocol.record.batch import decode_batch
from sprocketmq.protocol.record.properties import decode_properties, encode_properties

GET_ROUTE, BATCH = RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.SEND_BATCH_MESSAGE

RECEIPT = SendReceipt(SendStatus.OK, "AB12", "", MessageQueue("T", "a", 3), 0)


class Probe:
    def __init__(self) -> None:
        self.spans = InMemorySpanExporter()
        self.metrics = InMemoryMetricReader()
        tracing = TracerProvider()
        tracing.add_span_processor(SimpleSpanProcessor(self.spans))
        self.hook = Telemetry(tracing, MeterProvider([self.metrics]))

    def metric_names(self) -> set[str]:
        data = self.metrics.get_metrics_data()
        assert data is not None
        return {m.name for r in data.resource_metrics for s in r.scope_metrics for m in s.metrics}


def sent(probe: Probe, error: Exception | None = None) -> SendContext:
    context = SendContext("pg", "T", [Message("T", b"x", tag="new")], started=1, ended=2)
    probe.hook.before_send(context)
    context.receipt, context.error = (RECEIPT, None) if error is None else (None, error)
    probe.hook.after_send(context)
    return context


def test_send_span() -> None:
    probe = Probe()
    context = sent(probe)
    (span,) = probe.spans.get_finished_spans()
    attributes = span.attributes or {}
    assert (span.name, span.kind) == ("send T", SpanKind.PRODUCER)
    assert attributes["messaging.system"] == "rocketmq"
    assert attributes["messaging.message.id"] == "AB12"
    assert attributes["messaging.rocketmq.message.tag"] == "new"
    assert "traceparent" in context.properties
    assert {"messaging.client.operation.duration", "messaging.client.sent.messages"} <= probe.metric_names()


def test_a_oneway_send_counts_though_it_has_no_receipt() -> None:
    probe = Probe()
    context = SendContext("pg", "T", [Message("T", b"x")], started=1, ended=2)
    probe.hook.before_send(context)
    probe.hook.after_send(context)
    (span,) = probe.spans.get_finished_spans()
    assert span.status.status_code is not StatusCode.ERROR
    assert "messaging.client.sent.messages" in probe.metric_names()


def test_failed_send() -> None:
    probe = Probe()
    sent(probe, ValueError("no"))
    (span,) = probe.spans.get_finished_spans()
    assert span.status.status_code is StatusCode.ERROR
    assert (span.attributes or {})["error.type"] == "ValueError"
    assert "messaging.client.sent.messages" not in probe.metric_names()


def test_handler_span_links_to_the_send_and_is_current() -> None:
    probe = Probe()
    text = encode_properties(sent(probe).properties)
    messages = split_records(stored(b"x", 0, properties=text.encode()), "a")
    context = ConsumeContext("g", "T", messages, result="success", started=1, ended=2)
    probe.hook.before_consume(context)
    current = get_current_span().get_span_context().span_id
    probe.hook.after_consume(context)
    send, process = probe.spans.get_finished_spans()
    assert [link.context.span_id for link in process.links] == [send.context.span_id]
    assert current == process.context.span_id
    assert (process.attributes or {})["messaging.consumer.group.name"] == "g"
    assert "messaging.process.duration" in probe.metric_names()


@pytest.mark.parametrize(
    ("opt_in", "names"),
    [
        ("", {"messaging.rocketmq.message.tag"}),
        ("messaging", {"rocketmq.message.tag"}),
        ("http,messaging/dup", {"messaging.rocketmq.message.tag", "rocketmq.message.tag"}),
    ],
)
def test_opt_in(monkeypatch: pytest.MonkeyPatch, opt_in: str, names: set[str]) -> None:
    monkeypatch.setenv("OTEL_SEMCONV_STABILITY_OPT_IN", opt_in)
    probe = Probe()
    sent(probe)
    (span,) = probe.spans.get_finished_spans()
    assert {name for name in span.attributes or {} if name.endswith("message.tag")} == names


@pytest.mark.parametrize("is_connected", [True, False])
async def test_each_message_of_an_automatic_batch_has_a_span(is_connected: bool) -> None:
    """One request carries them, each with the context of its own span."""
    probe, settings = Probe(), ProducerSettings()
    transport = FakeTransport({GET_ROUTE: routes({"T": route("a", queues=1)}), BATCH: stores()})
    transport.is_connected = is_connected
    sender = Sender(instance(transport), "pg", settings, [probe.hook])
    batcher = Batcher(sender, Encoder("", settings), settings, lambda _: asyncio.Future())
    futures = [batcher.submit(Message("T", b"x", sharding_key=key)) for key in (None, None, "k")]
    await batcher.stop()
    await asyncio.sleep(0)
    spans = probe.spans.get_finished_spans()
    ids = [str((span.attributes or {})["messaging.message.id"]) for span in spans]
    assert sorted(ids) == sorted(future.result().message_id for future in futures)
    assert {span.name for span in spans} == {"send T"}
    entries = [text for command in transport.commands(BATCH) for _, _, text in decode_batch(command.body)]
    parents = {decode_properties(text)["traceparent"].split("-")[2] for text in entries}
    assert parents == {f"{span.context.span_id:016x}" for span in spans}
    assert len(parents) == 3
