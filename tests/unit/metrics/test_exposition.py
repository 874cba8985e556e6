from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from sprocketmq.metrics.exposition import COUNTER, GAUGE, HISTOGRAM, Metric, exposition

NODE = {"cluster": "c"}


def test_one_sample_a_line_with_the_labels_of_the_node() -> None:
    metric = Metric("lag", GAUGE, "Behind.").add(3, topic="T").add(12_345_678, topic="U")
    assert exposition([lambda: [metric]], NODE) == (
        "# HELP lag Behind.\n# TYPE lag gauge\n"
        'lag{cluster="c",topic="T"} 3\nlag{cluster="c",topic="U"} 12345678\n'
    )  # fmt: skip


def test_a_metric_without_samples_is_not_named() -> None:
    assert exposition([lambda: [Metric("lag", GAUGE, "Behind.")]], NODE) == ""


def test_whatever_a_label_holds_prometheus_reads_it_back() -> None:
    nasty = 'a"b\\c\nd'
    metric = Metric("names_total", COUNTER, "Names.").add(1, name=nasty)
    (family,) = text_string_to_metric_families(exposition([lambda: [metric]], NODE))
    assert family.samples[0].labels == {"cluster": "c", "name": nasty}


def test_the_buckets_of_a_histogram_add_up() -> None:
    metric = Metric("latency", HISTOGRAM, "Waits.").add_histogram((1, 10), (5, 3, 2), 61.5, code="10")
    (family,) = text_string_to_metric_families(exposition([lambda: [metric]], {}))
    assert [(s.name, s.labels.get("le"), s.value) for s in family.samples] == [
        ("latency_bucket", "1", 5),
        ("latency_bucket", "10", 8),
        ("latency_bucket", "+Inf", 10),
        ("latency_sum", None, 61.5),
        ("latency_count", None, 10),
    ]
