"""The requests of the corpus, a file for each topic of interest."""

from __future__ import annotations

from tests.corpus.scenes import (
    admin,
    batch,
    burst,
    controller,
    delay,
    nameserver,
    pop,
    pull,
    refused,
    retry,
    send,
    static_topic,
    sync_flush,
    transaction,
)

SCENES = (
    send.SCENE,
    batch.SCENE,
    burst.SCENE,
    pull.SCENE,
    pop.SCENE,
    transaction.SCENE,
    delay.SCENE,
    delay.WITHOUT,
    retry.SCENE,
    static_topic.SCENE,
    sync_flush.SCENE,
    refused.SCENE,
    *admin.SCENES,
    nameserver.SCENE,
    controller.SCENE,
)
