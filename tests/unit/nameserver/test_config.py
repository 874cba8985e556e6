from __future__ import annotations

import re
from pathlib import Path

from sprocketmq.config import from_properties, settings_of, to_properties
from sprocketmq.nameserver.config import NameserverConfig

DOCS = Path(__file__).parents[3] / "docs"
PAGES = DOCS / "nameserver.md", DOCS / "tls.md"


def test_every_setting_is_explained() -> None:
    written = {word for page in PAGES for word in re.findall(r"`([\w.]+)`", page.read_text())}
    assert settings_of(NameserverConfig).keys() <= written


def test_every_setting_can_be_read_back() -> None:
    config = NameserverConfig(listen_port=1)
    assert from_properties(NameserverConfig, to_properties(config)) == config
