from __future__ import annotations

import pytest
from tests.unit.nameserver.support import only, registration, static, topics

from sprocketmq.codes import ResponseCode
from sprocketmq.errors import RequestRefused
from sprocketmq.nameserver.brokers import RulerChange
from sprocketmq.nameserver.routes import RouteTable
from sprocketmq.protocol.bodies.data_version import DataVersion
from sprocketmq.protocol.bodies.route import QueueData

from .conftest import FakeClock


def addresses(routes: RouteTable, topic: str, *, acting_master: bool = False) -> dict[str, dict[int, str]]:
    route = routes.route(topic, acting_master=acting_master)
    return {} if route is None else {data.broker_name: dict(data.broker_addrs) for data in route.broker_datas}


def perm(routes: RouteTable, topic: str = "orders", broker: str = "broker-a") -> int:
    return routes.topics.queues(topic)[broker].perm


def test_a_registered_topic_has_a_route(routes: RouteTable) -> None:
    assert routes.route("orders") is None
    assert routes.register(registration()).is_new
    route = routes.route("orders")
    assert route is not None
    assert route.queue_datas == (
        QueueData(broker_name="broker-a", read_queue_nums=4, write_queue_nums=4, perm=6, topic_sys_flag=0),
    )
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.1:10911"}}
    assert not routes.register(registration()).is_new


def test_a_topic_over_brokers_and_clusters(routes: RouteTable) -> None:
    routes.register(registration())
    routes.register(registration("broker-b", cluster="Other", topics=topics("orders", "bills")))
    assert set(addresses(routes, "orders")) == {"broker-a", "broker-b"}
    assert routes.topics_of_cluster("Other") == {"orders", "bills", "TBW102", "SELF_TEST_TOPIC"}
    assert "bills" not in routes.topics_of_cluster("DefaultCluster")
    info = routes.cluster_info()
    assert info.cluster_addr_table == {"DefaultCluster": {"broker-a"}, "Other": {"broker-b"}}
    assert info.broker_addr_table["broker-b"].cluster == "Other"


def test_a_slave_learns_its_master_and_brings_no_topics(routes: RouteTable) -> None:
    routes.register(registration())
    answer = routes.register(registration(broker_id=1, topics=topics("secret")))
    assert (answer.master_address, answer.ha_address) == ("10.0.0.1:10911", "10.0.0.1:10912")
    assert routes.route("secret") is None
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.1:10911", 1: "10.0.0.2:10911"}}


def test_a_slave_without_a_master_learns_nothing(routes: RouteTable) -> None:
    answer = routes.register(registration(broker_id=1))
    assert (answer.master_address, answer.ha_address) == (None, None)


def test_one_topic_alone_updates_a_known_broker_and_no_other(routes: RouteTable) -> None:
    with pytest.raises(RequestRefused) as caught:
        routes.register(registration(topics=only("bills")))
    assert caught.value.code == ResponseCode.SYSTEM_ERROR
    assert routes.group("broker-a") is None
    routes.register(registration())
    routes.register(registration(topics=only("bills")))
    assert routes.route("bills") is not None
    assert routes.route("orders") is not None


def test_an_unchanged_data_version_changes_nothing(routes: RouteTable) -> None:
    routes.register(registration())
    before = routes.version
    routes.register(registration(topics=topics("orders", read_queue_nums=16)))
    assert routes.version == before
    assert routes.topics.queues("orders")["broker-a"].read_queue_nums == 4
    routes.register(registration(topics=topics("orders", read_queue_nums=16, counter=2)))
    assert routes.topics.queues("orders")["broker-a"].read_queue_nums == 16
    assert routes.version > before


def test_a_deleted_topic_comes_back_with_the_next_registration(routes: RouteTable) -> None:
    routes.register(registration())
    assert routes.delete_topic("orders")
    assert routes.route("orders") is None
    assert not routes.delete_topic("orders")
    routes.register(registration())
    assert routes.route("orders") is not None


def test_a_topic_is_deleted_in_one_cluster(routes: RouteTable) -> None:
    routes.register(registration())
    routes.register(registration("broker-b", cluster="Other"))
    assert routes.delete_topic("orders", "Other")
    assert set(addresses(routes, "orders")) == {"broker-a"}


def test_topics_that_a_registration_lacks_can_be_removed(routes: RouteTable) -> None:
    routes.register(registration(topics=topics("orders", "bills")))
    routes.register(registration(topics=topics("bills", counter=2)))
    assert routes.route("orders") is not None
    routes.register(registration(topics=topics("bills", counter=3)), delete_absent=True)
    assert routes.route("orders") is None
    assert routes.route("bills") is not None


def test_unregistering_the_last_broker_ends_group_topics_and_cluster(routes: RouteTable) -> None:
    routes.register(registration())
    routes.register(registration(broker_id=1))
    routes.unregister("DefaultCluster", "broker-a", "10.0.0.1:10911")
    assert addresses(routes, "orders") == {"broker-a": {1: "10.0.0.2:10911"}}
    routes.unregister("DefaultCluster", "broker-a", "10.0.0.2:10911")
    assert routes.topics.names() == frozenset()
    assert routes.cluster_info().cluster_addr_table == {}
    assert routes.unregister("DefaultCluster", "broker-a", "10.0.0.2:10911") is None


def test_silent_brokers_expire_by_their_own_timeouts(routes: RouteTable, clock: FakeClock) -> None:
    routes.register(registration())
    routes.register(registration("broker-b", expiry_ms=10_000))
    clock.now += 10
    assert routes.expire() == []
    clock.now += 1
    assert [live.name for live in routes.expire()] == ["broker-b"]
    clock.now += 108
    routes.heartbeat("DefaultCluster", "10.0.0.1:10911")
    clock.now += 120
    assert routes.expire() == []
    clock.now += 1
    assert [live.name for live in routes.expire()] == ["broker-a"]
    assert routes.route("orders") is None


def test_a_closed_session_takes_its_brokers_along(routes: RouteTable) -> None:
    old, new = object(), object()
    routes.register(registration(session=old))
    routes.register(registration("broker-b", session=old))
    routes.register(registration(session=new))
    assert [live.name for live in routes.session_closed(old)] == ["broker-b"]
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.1:10911"}}


def test_a_slave_that_becomes_master_leaves_its_old_id(routes: RouteTable) -> None:
    routes.register(registration(broker_id=1))
    routes.register(registration(broker_id=0, address="10.0.0.2:10911"))
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.2:10911"}}


def test_an_old_master_does_not_push_out_a_newer_one(routes: RouteTable) -> None:
    routes.register(registration(topics=topics("orders", state=2)))
    routes.register(registration(address="10.9.9.9:10911", topics=topics("orders", "old", state=1)))
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.1:10911"}}
    assert routes.route("old") is None
    routes.register(registration(address="10.9.9.9:10911", topics=topics("orders", state=3)))
    assert addresses(routes, "orders") == {"broker-a": {0: "10.9.9.9:10911"}}


def test_the_old_address_of_a_moved_broker_expires_without_harm(routes: RouteTable, clock: FakeClock) -> None:
    routes.register(registration())
    clock.now += 100
    routes.register(registration(address="10.0.0.77:10911"))
    clock.now += 30
    assert [live.address for live in routes.expire()] == ["10.0.0.1:10911"]
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.77:10911"}}


def test_a_renamed_broker_leaves_nothing_behind(routes: RouteTable) -> None:
    routes.register(registration())
    routes.register(registration("broker-b", address="10.0.0.1:10911"))
    assert routes.group("broker-a") is None
    assert addresses(routes, "orders") == {"broker-b": {0: "10.0.0.1:10911"}}


def test_unregistering_under_a_wrong_name_changes_nothing(routes: RouteTable, clock: FakeClock) -> None:
    routes.register(registration())
    routes.unregister("DefaultCluster", "broker-b", "10.0.0.1:10911")
    assert addresses(routes, "orders") == {"broker-a": {0: "10.0.0.1:10911"}}
    clock.now += 121
    assert [live.name for live in routes.expire()] == ["broker-a"]


def test_write_permission_of_a_broker(routes: RouteTable) -> None:
    routes.register(registration())
    routes.register(registration("broker-b"))
    assert routes.topics.set_writable("broker-a", False) == 3
    assert (perm(routes), perm(routes, broker="broker-b")) == (4, 6)
    routes.register(registration())
    assert perm(routes) == 4, "the same data version does not undo it"
    assert routes.topics.set_writable("broker-a", True) == 3
    assert perm(routes) == 6
    assert routes.topics.set_writable("nobody", False) == 0


def test_queues_announced_alone_need_a_known_broker(routes: RouteTable) -> None:
    queues = [QueueData(broker_name="broker-a", perm=6), QueueData(broker_name="stranger", perm=6)]
    routes.put_queues("single", queues)
    assert routes.route("single") is None
    routes.register(registration())
    routes.put_queues("single", queues)
    assert set(addresses(routes, "single")) == {"broker-a"}


def test_data_versions(routes: RouteTable) -> None:
    assert routes.data_version("DefaultCluster", "10.0.0.1:10911") is None
    routes.register(registration())
    assert routes.data_version("DefaultCluster", "10.0.0.1:10911") == DataVersion(timestamp=1, counter=1)


def test_static_topics_carry_their_mapping(routes: RouteTable) -> None:
    routes.register(registration(topics=static("fixed", "broker-a")))
    route = routes.route("fixed")
    assert route is not None
    assert route.topic_queue_mapping_by_broker["broker-a"].total_queues == 8
    routes.delete_topic("fixed")
    assert routes.topics.mappings("fixed") == {}


def test_filter_servers_are_part_of_the_route(routes: RouteTable) -> None:
    routes.register(registration(filter_servers=("10.0.0.9:1",)))
    route = routes.route("orders")
    assert route is not None
    assert route.filter_server_table == {"10.0.0.1:10911": ("10.0.0.9:1",)}
    routes.register(registration())
    route = routes.route("orders")
    assert route is not None
    assert route.filter_server_table == {}


def test_an_acting_master_can_be_read(routes: RouteTable) -> None:
    changes: list[RulerChange] = []
    routes.on_ruler_changed = changes.append
    routes.register(registration(acting_master=True))
    routes.register(registration(broker_id=1, acting_master=True))
    routes.register(registration(broker_id=2, acting_master=True))
    assert changes == []
    routes.unregister("DefaultCluster", "broker-a", "10.0.0.1:10911")
    assert perm(routes) == 4
    assert addresses(routes, "orders") == {"broker-a": {1: "10.0.0.2:10911", 2: "10.0.0.3:10911"}}
    assert addresses(routes, "orders", acting_master=True) == {"broker-a": {0: "10.0.0.2:10911", 2: "10.0.0.3:10911"}}
    assert [(c.broker_id, c.address, c.offline_address) for c in changes] == [(1, "10.0.0.2:10911", "10.0.0.1:10911")]
    routes.register(registration(acting_master=True, topics=topics("orders", counter=9)))
    assert perm(routes) == 6
    assert addresses(routes, "orders", acting_master=True)["broker-a"][0] == "10.0.0.1:10911"
    assert [(c.broker_id, c.offline_address) for c in changes[1:]] == [(0, None)]
    assert changes[1].ha_address == "10.0.0.1:10912"


def test_the_first_slave_registers_topics_read_only(routes: RouteTable) -> None:
    routes.register(registration(broker_id=1, acting_master=True))
    assert perm(routes) == 4
    assert addresses(routes, "orders", acting_master=True) == {"broker-a": {0: "10.0.0.2:10911"}}
