"""`python -m tests.browser.images`: the pictures of the console in docs/images, made anew in about a minute.

A shop trades on a cluster of its own: one group keeps up, another is behind. Look at what was made before it is kept.
"""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page, ViewportSize
from tests.browser.chromium import Tab, chromium, console, tab

from sprocketmq import Message
from sprocketmq.client import ReceivedMessage
from sprocketmq.client.sync import Producer, PushConsumer
from sprocketmq.client.sync.admin import AdminClient
from sprocketmq.testing import EmbeddedCluster

IMAGES = Path(__file__).parents[2] / "docs" / "images"
SCREEN: ViewportSize = {"width": 1200, "height": 760}
#: Brokers sample their rates every ten seconds, and a chart of one sample is none.
_LOOK_S = 60
_PAUSE_S = 1 / 60


def main() -> None:
    with EmbeddedCluster() as cluster, trading(cluster.nameserver), chromium() as browser:
        with console(cluster.nameserver) as home:
            with tab(browser, home, viewport=SCREEN, color_scheme="light") as visitor:
                page = visitor.open("/")
                page.wait_for_timeout(_LOOK_S * 1000)
                keep(page, "console-overview")
            with tab(browser, home, viewport=SCREEN, color_scheme="dark") as visitor:
                keep(consumed_message(visitor), "console-message")


def keep(page: Page, name: str) -> None:
    path = IMAGES / f"{name}.png"
    page.screenshot(path=path)
    print(f"{path.name}: {path.stat().st_size // 1024} KiB")


def consumed_message(visitor: Tab) -> Page:
    """One that was sent a while ago, however busy the machine is, so that the group is behind it no more."""
    page = visitor.open("/topics/orders/messages?from=oldest")
    page.locator("main tbody td a").last.click()
    page.locator("main h2", has_text="Trace").wait_for()
    page.locator(".json details details summary").first.click()
    page.mouse.move(0, 0)
    return page


@contextmanager
def trading(nameserver: str) -> Iterator[None]:
    closed = threading.Event()
    with AdminClient(nameserver) as admin:
        for topic in ("orders", "payments", "shipments"):
            admin.topics.create(topic, queues=4)
    billing = PushConsumer("billing", nameserver, trace=True)
    archive = PushConsumer("archive", nameserver)

    @billing.subscribe("orders")
    def bill(_message: ReceivedMessage) -> None:
        pass

    @archive.subscribe("payments")
    def put_away(_message: ReceivedMessage) -> None:
        closed.wait(0.5)

    shop = threading.Thread(target=trade, args=(nameserver, closed))
    with billing, archive:
        shop.start()
        try:
            yield
        finally:
            closed.set()
            shop.join()


def trade(nameserver: str, closed: threading.Event) -> None:
    dice = random.Random(7)
    with Producer("shop", nameserver, trace=True) as producer:
        for number in range(1, 1_000_000):
            if closed.wait(_PAUSE_S):
                return
            order = {
                "id": number,
                "customer": {"name": dice.choice(["Ada", "Grace", "Alan"]), "city": dice.choice(["Zürich", "Porto"])},
                "items": [{"article": f"a-{dice.randrange(90)}", "count": dice.randrange(1, 4)}],
                "total": dice.randrange(500, 20_000) / 100,
                "paid": dice.random() < 0.5,
            }
            body = json.dumps(order, ensure_ascii=False).encode()
            producer.send(Message("orders", body, tag="paid" if order["paid"] else "new", keys=[str(number)]))
            if order["paid"]:
                producer.send(Message("payments", body, keys=[str(number)]))


if __name__ == "__main__":
    main()
