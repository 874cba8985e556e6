"""Settings for every test."""

from __future__ import annotations

from hypothesis import settings

# A first example pays for imports and tables; how long one takes says nothing here.
settings.register_profile("sprocketmq", deadline=None)
settings.load_profile("sprocketmq")
