"""Choices that travel by name, in headers and in JSON bodies."""

from __future__ import annotations

from enum import Enum


class BoundaryType(Enum):
    """Which of several messages with the wanted timestamp a search finds."""

    LOWER = "lower"
    UPPER = "upper"


class TopicFilterType(Enum):
    SINGLE_TAG = "SINGLE_TAG"
    MULTI_TAG = "MULTI_TAG"


class ConsumeType(Enum):
    CONSUME_ACTIVELY = "PULL"
    CONSUME_PASSIVELY = "PUSH"
    CONSUME_POP = "POP"


class MessageModel(Enum):
    BROADCASTING = "BROADCASTING"
    CLUSTERING = "CLUSTERING"


class ConsumeFromWhere(Enum):
    CONSUME_FROM_LAST_OFFSET = 0
    CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST = 1
    CONSUME_FROM_MIN_OFFSET = 2
    CONSUME_FROM_MAX_OFFSET = 3
    CONSUME_FROM_FIRST_OFFSET = 4
    CONSUME_FROM_TIMESTAMP = 5


class MessageRequestMode(Enum):
    PULL = "PULL"
    POP = "POP"


class GroupRetryPolicyType(Enum):
    EXPONENTIAL = "EXPONENTIAL"
    CUSTOMIZED = "CUSTOMIZED"


class CMResult(Enum):
    """How a consumer that was handed one message directly came out of it."""

    CR_SUCCESS = "CR_SUCCESS"
    CR_LATER = "CR_LATER"
    CR_ROLLBACK = "CR_ROLLBACK"
    CR_COMMIT = "CR_COMMIT"
    CR_THROW_EXCEPTION = "CR_THROW_EXCEPTION"
    CR_RETURN_NULL = "CR_RETURN_NULL"
