"""The broker's own settings, with RocketMQ's key names; those of its store are `store.config.StoreConfig`.

Intervals and timeouts are milliseconds, as in RocketMQ. A setting marked `runtime` may be changed by an admin call.
"""

from __future__ import annotations

import socket
from dataclasses import dataclass
from enum import Enum

from sprocketmq.auth.config import AuthConfig
from sprocketmq.config import setting
from sprocketmq.errors import ConfigError
from sprocketmq.protocol.enums import MessageRequestMode


class BrokerRole(Enum):
    ASYNC_MASTER = "ASYNC_MASTER"
    SYNC_MASTER = "SYNC_MASTER"
    SLAVE = "SLAVE"


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerConfig(AuthConfig):
    # Who this broker is, and where it is found.
    namesrv_addr: str = setting("namesrvAddr", "", "Nameservers, HOST:PORT joined by `;`.")
    broker_name: str = setting("brokerName", socket.gethostname(), "Name that a master and its slaves share.")
    broker_cluster_name: str = setting("brokerClusterName", "DefaultCluster", "Cluster this broker belongs to.")
    broker_id: int = setting("brokerId", 0, "0 is the master; a slave's is above 0.", low=-1)
    broker_role: BrokerRole = setting("brokerRole", BrokerRole.ASYNC_MASTER, "Master or slave, and how it replicates.")
    broker_ip1: str = setting("brokerIP1", "", "Address that clients are told; empty is that of the default route.")
    broker_ip2: str = setting("brokerIP2", "", "Address that slaves are told; empty is brokerIP1.")
    listen_port: int = setting("listenPort", 10911, "Port to listen on; 0 takes a free one.", low=0, high=65535)
    vip_channel_enable: bool = setting(
        "vipChannelEnable", True, "Serve listenPort - 2 as well, for clients with vipChannelEnabled."
    )
    ha_listen_port: int = setting(
        "haListenPort", 0, "Port for slaves; 0 is listenPort + 1, or a free one where that is chosen by the system.",
        low=0, high=65535,
    )  # fmt: skip
    region_id: str = setting("regionId", "DefaultRegion", "Stamped on every message as MSG_REGION.")
    broker_permission: int = setting("brokerPermission", 6, "4 readable, 2 writable.", low=0, high=7, runtime=True)

    # Replication, see docs/replication.md.
    ha_master_address: str = setting(
        "haMasterAddress", "", "Where a slave's master gives its log; empty is what the nameservers tell."
    )
    ha_send_heartbeat_interval: int = setting(
        "haSendHeartbeatInterval", 5000, "Master and slave are not silent for longer.", low=1, runtime=True
    )
    ha_housekeeping_interval: int = setting(
        "haHousekeepingInterval", 20_000, "Who is silent for longer is gone.", low=1, runtime=True
    )
    ha_transfer_batch_size: int = setting(
        "haTransferBatchSize", 32_768, "Bytes of the log in one frame to a slave.", low=1024, high=1 << 20, runtime=True
    )
    ha_max_gap_not_in_sync: int = setting(
        "haMaxGapNotInSync", 256 << 20, "A slave further behind does not count as in sync.", low=1, runtime=True
    )
    ha_slave_fallbehind_max: int = setting(
        "haSlaveFallbehindMax", 0, "The same as RocketMQ 4 calls it; 0 is haMaxGapNotInSync.", low=0, runtime=True
    )
    slave_timeout: int = setting(
        "slaveTimeout", 3000, "A send waits so long for its replicas, then it is answered FLUSH_SLAVE_TIMEOUT.",
        low=1, runtime=True,
    )  # fmt: skip
    in_sync_replicas: int = setting(
        "inSyncReplicas", 0, "Copies, the master's included, that SYNC_MASTER waits for; 0 is one slave's.",
        low=0, high=100, runtime=True,
    )  # fmt: skip
    min_in_sync_replicas: int = setting(
        "minInSyncReplicas", 1, "With fewer copies in sync, the master's included, nothing is taken.",
        low=1, high=100, runtime=True,
    )  # fmt: skip
    all_ack_in_sync_state_set: bool = setting(
        "allAckInSyncStateSet", True, "Under a controller, wait for every replica of the in-sync set.", runtime=True
    )
    offset_check_in_slave: bool = setting(
        "offsetCheckInSlave", False, "A slave tells consumers that their offset is out of range.", runtime=True
    )

    # Failover by a controller, see docs/replication.md.
    enable_controller_mode: bool = setting("enableControllerMode", False, "A controller gives this broker its role.")
    controller_addr: str = setting("controllerAddr", "", "Controllers, HOST:PORT joined by `;`.")
    controller_heart_beat_timeout_mills: int = setting(
        "controllerHeartBeatTimeoutMills", 1500, "A broker that is silent for longer has lost its role.", low=100
    )
    broker_heartbeat_interval: int = setting(
        "brokerHeartbeatInterval", 250, "Between heartbeats to the controllers.", low=10
    )
    sync_broker_metadata_period: int = setting(
        "syncBrokerMetadataPeriod", 1000, "Between looks at who is the master, which renew its lease.", low=10
    )
    sync_controller_metadata_period: int = setting(
        "syncControllerMetadataPeriod", 10_000, "Between looks at which controller leads.", low=10
    )
    check_sync_state_set_period: int = setting(
        "checkSyncStateSetPeriod", 250, "Between looks at who is in sync.", low=10
    )
    ha_max_time_slave_not_catchup: int = setting(
        "haMaxTimeSlaveNotCatchup", 1500, "Who is behind for longer leaves the in-sync set.", low=100, runtime=True
    )
    broker_election_priority: int = setting(
        "brokerElectionPriority", 2**31 - 1, "Of replicas that have the same, the lowest is elected.", low=0,
        high=2**31 - 1,
    )  # fmt: skip
    sync_from_last_file: bool = setting("syncFromLastFile", False, "A replica with nothing takes the last file alone.")
    async_learner: bool = setting("asyncLearner", False, "This replica is never in sync, and never elected.")
    store_path_broker_identity: str = setting("storePathBrokerIdentity", "", "Empty is in the store's folder.")
    store_path_epoch_file: str = setting("storePathEpochFile", "", "Empty is in the store's folder.")

    # Registration with the nameservers.
    register_name_server_period: int = setting(
        "registerNameServerPeriod", 30_000, "Between registrations; kept within 10 to 60 s.", low=1
    )
    register_broker_timeout_mills: int = setting("registerBrokerTimeoutMills", 24_000, "For one registration.", low=1)
    compressed_register: bool = setting("compressedRegister", False, "Send registrations compressed.", runtime=True)
    force_register: bool = setting(
        "forceRegister",
        True,
        "No effect here: a broker always registers without asking for the known version.",
        runtime=True,
    )
    enable_single_topic_register: bool = setting(
        "enableSingleTopicRegister", False, "No effect here: new topics are announced by a registration.", runtime=True
    )

    forward_timeout: int = setting(
        "forwardTimeout", 3000, "For a request of a static topic that another broker answers.", low=1, runtime=True
    )

    # Topics and groups.
    auto_create_topic_enable: bool = setting(
        "autoCreateTopicEnable", True, "A send to an unknown topic creates it.", runtime=True
    )
    auto_create_subscription_group: bool = setting(
        "autoCreateSubscriptionGroup", True, "A heartbeat of an unknown group creates it.", runtime=True
    )
    default_topic_queue_nums: int = setting(
        "defaultTopicQueueNums", 8, "Most queues of a topic that a send creates.", low=1, high=65_535, runtime=True
    )
    max_auto_created_topics: int = setting(
        "maxAutoCreatedTopics", 10_000, "Above so many topics a send of a stranger creates none.", low=0, runtime=True
    )
    max_auto_created_groups: int = setting(
        "maxAutoCreatedGroups", 10_000, "The same for groups, by heartbeats and pulls.", low=0, runtime=True
    )
    max_auto_created_per_second: int = setting(
        "maxAutoCreatedPerSecond", 20, "Topics and groups that one address creates so.", low=1, runtime=True
    )
    cluster_topic_enable: bool = setting("clusterTopicEnable", True, "Keep a topic with the cluster's name.")
    broker_topic_enable: bool = setting("brokerTopicEnable", True, "Keep a topic with the broker's name.")
    trace_topic_enable: bool = setting("traceTopicEnable", False, "Create the topic for message traces.")
    msg_trace_topic_name: str = setting("msgTraceTopicName", "RMQ_SYS_TRACE_TOPIC", "Its name.")
    trace_on: bool = setting("traceOn", True, "Tell clients that tracing is on.", runtime=True)
    validate_system_topic_when_update_topic: bool = setting(
        "validateSystemTopicWhenUpdateTopic", True, "Refuse to change system topics.", runtime=True
    )
    clear_retry_topic_when_delete_topic: bool = setting(
        "clearRetryTopicWhenDeleteTopic", True, "Deleting a topic deletes its POP retry topics.", runtime=True
    )

    # Sends.
    start_accept_send_request_time_stamp: int = setting(
        "startAcceptSendRequestTimeStamp", 0, "Refuse sends before this time.", low=0, runtime=True
    )
    broker_fast_failure_enable: bool = setting(
        "brokerFastFailureEnable", True, "Answer busy when a request has waited too long.", runtime=True
    )
    wait_time_mills_in_send_queue: int = setting(
        "waitTimeMillsInSendQueue", 200, "A send that waited longer is answered busy.", low=1, runtime=True
    )
    wait_time_mills_in_pull_queue: int = setting(
        "waitTimeMillsInPullQueue", 5000, "No effect here: pulls wait in no queue.", low=1, runtime=True
    )
    send_thread_pool_queue_capacity: int = setting(
        "sendThreadPoolQueueCapacity", 10_000, "Sends that may wait for their acknowledgement.", low=1, runtime=True
    )
    store_reply_message_enable: bool = setting(
        "storeReplyMessageEnable", True, "Keep replies of request-reply in the log as well.", runtime=True
    )
    recall_message_enable: bool = setting(
        "recallMessageEnable", False, "Let producers recall delayed messages.", runtime=True
    )

    # Pulls.
    cg_cold_read_threshold: int = setting(
        "cgColdReadThreshold", 3 << 20, "Bytes a group may read from the disk in 5 s, with coldDataFlowControlEnable.",
        low=0, runtime=True,
    )  # fmt: skip
    global_cold_read_threshold: int = setting(
        "globalColdReadThreshold", 100 << 20, "And all groups together.", low=0, runtime=True
    )
    long_polling_enable: bool = setting("longPollingEnable", True, "Park pulls that find nothing.", runtime=True)
    short_polling_time_mills: int = setting(
        "shortPollingTimeMills", 1000, "How long they wait when long polling is off.", low=1, runtime=True
    )
    max_long_polling_time_mills: int = setting(
        "maxLongPollingTimeMills", 60_000, "Longest that a pull, POP or NOTIFICATION waits, whatever it asks for.",
        low=1, runtime=True,
    )  # fmt: skip
    max_parked_requests: int = setting(
        "maxParkedRequests", 100_000, "Pulls, POPs and NOTIFICATIONs that wait for a message at once.",
        low=1, runtime=True,
    )  # fmt: skip
    max_parked_requests_per_connection: int = setting(
        "maxParkedRequestsPerConnection", 1024, "And of one connection.", low=1, runtime=True
    )
    slave_read_enable: bool = setting("slaveReadEnable", False, "Send slow consumers to a slave.", runtime=True)
    lite_pull_message_enable: bool = setting("litePullMessageEnable", True, "Serve lite pull consumers.", runtime=True)
    reject_pull_consumer_enable: bool = setting(
        "rejectPullConsumerEnable", False, "Refuse plain pull consumers.", runtime=True
    )
    disable_consume_if_consumer_read_slowly: bool = setting(
        "disableConsumeIfConsumerReadSlowly",
        False,
        "No effect here: groups that fall far behind stay on.",
        runtime=True,
    )
    consumer_fallbehind_threshold: int = setting(
        "consumerFallbehindThreshold",
        16 << 30,
        "No effect here, as disableConsumeIfConsumerReadSlowly.",
        low=1,
        runtime=True,
    )
    pull_batch_max_message_count: int = setting(
        "pullBatchMaxMessageCount", 160, "No effect here: see maxTransferCountOnMessageInMemory.", low=1, runtime=True
    )

    # Filters.
    enable_property_filter: bool = setting("enablePropertyFilter", True, "Serve SQL92 subscriptions.", runtime=True)
    enable_calc_filter_bit_map: bool = setting("enableCalcFilterBitMap", False, "Keep bloom bits for them.")
    max_sql_filters_per_group: int = setting(
        "maxSqlFiltersPerGroup", 100, "SQL92 subscriptions of one group.", low=1, runtime=True
    )
    filter_support_retry: bool = setting(
        "filterSupportRetry", False, "No effect here: retries are not filtered.", runtime=True
    )
    expect_consumer_num_use_filter: int = setting("expectConsumerNumUseFilter", 32, "Sizes the bloom filter.", low=1)
    max_error_rate_of_bloom_filter: int = setting("maxErrorRateOfBloomFilter", 20, "Percent.", low=1, high=99)
    filter_data_clean_time_span: int = setting("filterDataCleanTimeSpan", 86_400_000, "Dead filters are kept.", low=1)

    # Clients and offsets.
    channel_expired_timeout: int = setting(
        "channelExpiredTimeout", 120_000, "A client without heartbeat is gone.", low=1
    )
    subscription_expired_timeout: int = setting(
        "subscriptionExpiredTimeout",
        600_000,
        "No effect here: a subscription goes with its clients.",
        low=1,
        runtime=True,
    )
    max_groups_per_heartbeat: int = setting(
        "maxGroupsPerHeartbeat", 200, "Groups that one heartbeat may name.", low=1, runtime=True
    )
    max_subscriptions_per_heartbeat: int = setting(
        "maxSubscriptionsPerHeartbeat", 2000, "Subscriptions that it may bring.", low=1, runtime=True
    )
    max_groups_per_connection: int = setting(
        "maxGroupsPerConnection", 1000, "Groups that one connection is in, as a producer or as a consumer.",
        low=1, runtime=True,
    )  # fmt: skip
    max_locks_per_group: int = setting(
        "maxLocksPerGroup", 10_000, "Queues that the orderly consumers of a group hold.", low=1, runtime=True
    )
    notify_consumer_ids_changed_enable: bool = setting(
        "notifyConsumerIdsChangedEnable", True, "Tell consumers when their group changes.", runtime=True
    )
    flush_consumer_offset_interval: int = setting("flushConsumerOffsetInterval", 5000, "Between saves.", low=10)
    use_server_side_reset_offset: bool = setting(
        "useServerSideResetOffset", True, "A reset takes effect at the next pull.", runtime=True
    )
    enable_broadcast_offset_store: bool = setting(
        "enableBroadcastOffsetStore", True, "No effect here: it is for RocketMQ's proxy."
    )

    # Transactions.
    reject_transaction_message: bool = setting("rejectTransactionMessage", False, "Refuse half messages.", runtime=True)
    transaction_time_out: int = setting("transactionTimeOut", 6000, "Before the first check.", low=0, runtime=True)
    transaction_check_max: int = setting("transactionCheckMax", 15, "Checks of one message.", low=1, runtime=True)
    transaction_check_interval: int = setting(
        "transactionCheckInterval", 30_000, "Between checks.", low=10, runtime=True
    )
    transaction_metric_flush_interval: int = setting(
        "transactionMetricFlushInterval", 3000, "Between saves of how many are open.", low=10
    )
    transaction_op_msg_max_size: int = setting("transactionOpMsgMaxSize", 4096, "Bytes of one op message.", low=32)
    transaction_op_batch_interval: int = setting(
        "transactionOpBatchInterval", 3000, "No effect here: op messages wait for nothing.", low=1
    )

    # Delays.
    timer_wheel_enable: bool = setting("timerWheelEnable", True, "Serve delays of any length.")
    timer_precision_ms: int = setting("timerPrecisionMs", 1000, "Their precision.", low=100, high=1000)
    timer_max_delay_sec: int = setting("timerMaxDelaySec", 259_200, "The longest of them.", low=1, runtime=True)
    timer_roll_window_slot: int = setting("timerRollWindowSlot", 172_800, "Longer ones are rolled on.", low=2)
    flush_delay_offset_interval: int = setting("flushDelayOffsetInterval", 10_000, "Between saves.", low=10)

    # POP.
    default_message_request_mode: MessageRequestMode = setting(
        "defaultMessageRequestMode", MessageRequestMode.PULL, "How new groups consume."
    )
    default_pop_share_queue_num: int = setting("defaultPopShareQueueNum", -1, "Queues shared by POP clients.", low=-1)
    revive_queue_num: int = setting("reviveQueueNum", 8, "Queues of the revive topic.", low=1)
    revive_interval: int = setting("reviveInterval", 1000, "Between looks for what comes back.", low=1, runtime=True)
    max_pop_polling_size: int = setting("maxPopPollingSize", 100_000, "POP requests that wait.", low=1, runtime=True)
    pop_polling_size: int = setting("popPollingSize", 1024, "POP requests that wait on one queue.", low=1, runtime=True)

    def __post_init__(self) -> None:
        AuthConfig.__post_init__(self)
        if self.enable_controller_mode and not self.controllers:
            raise ConfigError("enableControllerMode=true needs controllerAddr")
        if self.broker_id < 0 and not self.enable_controller_mode:
            raise ConfigError(f"brokerId={self.broker_id}: it is given by a controller, or not below 0")
        if self.broker_role is BrokerRole.SLAVE and self.broker_id == 0 and not self.enable_controller_mode:
            raise ConfigError("brokerId=0: that of a brokerRole=SLAVE is above 0")
        if not self.broker_name or not self.broker_cluster_name:
            raise ConfigError("brokerName and brokerClusterName must not be empty")

    def polling_seconds(self, asked_ms: int) -> float:
        """How long a request that found nothing waits, of the time that it asked for."""
        return min(max(0, asked_ms), self.max_long_polling_time_mills) / 1000

    @property
    def longest_invisible_ms(self) -> int:
        """Of what POP hands out: a check point rests like any timer."""
        return self.timer_max_delay_sec * 1000

    @property
    def gap_not_in_sync(self) -> int:
        """Bytes that a slave may be behind and still count as in sync."""
        return self.ha_slave_fallbehind_max or self.ha_max_gap_not_in_sync

    @property
    def controllers(self) -> tuple[str, ...]:
        return _addresses(self.controller_addr)

    @property
    def nameservers(self) -> tuple[str, ...]:
        return _addresses(self.namesrv_addr)


def _addresses(text: str) -> tuple[str, ...]:
    return tuple(address.strip() for address in text.replace(",", ";").split(";") if address.strip())
