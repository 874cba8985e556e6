from __future__ import annotations

from sprocketmq.client.cluster.shared_instances import acquire, release
from sprocketmq.client.options import ClientOptions

OPTIONS = ClientOptions(("127.0.0.1:1",))


async def test_clients_with_the_same_options_share() -> None:
    one, two = acquire(OPTIONS, producer="p"), acquire(OPTIONS, consumer="c")
    other = acquire(ClientOptions(("127.0.0.1:2",)))
    assert one is two
    assert other is not one
    await release(one, producer="p")
    assert acquire(OPTIONS, producer="p") is one
    for instance in (one, two):
        await release(instance)
    await release(other)
    fresh = acquire(OPTIONS)
    assert fresh is not one
    await release(fresh)


async def test_two_members_of_a_group_never_share() -> None:
    one, two = acquire(OPTIONS, consumer="c"), acquire(OPTIONS, consumer="c")
    assert one.client_id != two.client_id
    await release(one, consumer="c")
    await release(two, consumer="c")
