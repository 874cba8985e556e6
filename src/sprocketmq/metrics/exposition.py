"""Figures in Prometheus' text format.

    # HELP name help
    # TYPE name gauge|counter|histogram
    name{label="value"} 1

A histogram is made of three names, as Prometheus wants it: `_bucket` with the upper bound `le`, `_sum` and `_count`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

Labels = dict[str, str]
GAUGE, COUNTER, HISTOGRAM = "gauge", "counter", "histogram"


@dataclass(slots=True)
class Metric:
    name: str
    kind: str
    help: str
    samples: list[tuple[str, Labels, float]] = field(default_factory=list)

    def add(self, value: float, **labels: str) -> Metric:
        self.samples.append((self.name, labels, value))
        return self

    def add_histogram(self, bounds: Sequence[float], counts: Sequence[int], total: float, **labels: str) -> Metric:
        """`counts` has one more than `bounds`: what lies above the last."""
        below = 0
        for bound, count in zip((*map(_number, bounds), "+Inf"), counts, strict=True):
            below += count
            self.samples.append((f"{self.name}_bucket", labels | {"le": bound}, below))
        self.samples.append((f"{self.name}_sum", labels, total))
        self.samples.append((f"{self.name}_count", labels, below))
        return self


def in_unit(metric: Metric, unit: str) -> Metric:
    """The same under the name that RocketMQ 5.3's exporter gives it: it appends units, its documents do not."""
    name = f"{metric.name}_{unit}"
    samples = [(name + sample.removeprefix(metric.name), labels, value) for sample, labels, value in metric.samples]
    return Metric(name, metric.kind, metric.help, samples)


Source = Callable[[], Iterable[Metric]]


def exposition(sources: Iterable[Source], node: Labels) -> str:
    """One scrape; `node` are the labels that every sample has."""
    return "".join(line for source in sources for metric in source() for line in _lines(metric, node))


def _lines(metric: Metric, node: Labels) -> Iterator[str]:
    if not metric.samples:
        return
    yield f"# HELP {metric.name} {metric.help}\n# TYPE {metric.name} {metric.kind}\n"
    for name, labels, value in metric.samples:
        text = ",".join(f'{label}="{_escaped(content)}"' for label, content in (node | labels).items())
        yield f"{name}{{{text}}} {_number(value)}\n"


def _number(value: float) -> str:
    return f"{value:g}" if value < 1e6 else f"{value:.0f}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
