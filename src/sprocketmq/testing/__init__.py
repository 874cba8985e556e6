"""A cluster for tests: nameserver and broker inside the test process, on free ports, in a temporary directory.

The pytest plugin offers it as the fixture `rocketmq`; `EmbeddedCluster` is the same without pytest.
"""

from sprocketmq.testing.cluster import EmbeddedCluster

__all__ = ["EmbeddedCluster"]
