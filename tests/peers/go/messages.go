package main

import (
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// message is what a test gives; the body travels in base64.
type message struct {
	Topic          string
	Body           []byte
	Tags           *string
	Keys           *string
	Properties     map[string]string
	Flag           int32
	DelayTimeLevel *int
	DelayTimeMs    *int64
	DelayTimeSec   *int64
	DeliverTimeMs  *int64
}

type queue struct {
	Topic      string
	BrokerName string
	QueueID    int
}

func (m *message) build(at *queue, shard *string) *primitive.Message {
	built := primitive.NewMessage(m.Topic, m.Body)
	built.Flag = m.Flag
	for name, value := range m.Properties {
		built.WithProperty(name, value)
	}
	if m.Tags != nil {
		built.WithTag(*m.Tags)
	}
	if m.Keys != nil {
		built.WithKeys([]string{*m.Keys})
	}
	if m.DelayTimeLevel != nil {
		built.WithDelayTimeLevel(*m.DelayTimeLevel)
	}
	if at != nil {
		built.Queue = at.build()
	}
	if shard != nil {
		built.WithShardingKey(*shard)
	}
	return built
}

func (q *queue) build() *primitive.MessageQueue {
	return &primitive.MessageQueue{Topic: q.Topic, BrokerName: q.BrokerName, QueueId: q.QueueID}
}

func describeMessage(m *primitive.Message) object {
	return object{
		"topic":         m.Topic,
		"body":          m.Body,
		"flag":          m.Flag,
		"tags":          orNull(m.GetTags()),
		"keys":          orNull(m.GetKeys()),
		"properties":    m.GetProperties(),
		"transactionId": orNull(m.TransactionId),
	}
}

func describeStored(m *primitive.MessageExt) object {
	description := describeMessage(&m.Message)
	if m.Queue != nil {
		description["queueId"], description["brokerName"] = m.Queue.QueueId, orNull(m.Queue.BrokerName)
	}
	description["msgId"] = m.MsgId
	description["offsetMsgId"] = m.OffsetMsgId
	description["queueOffset"] = m.QueueOffset
	description["commitLogOffset"] = m.CommitLogOffset
	description["storeSize"] = m.StoreSize
	description["sysFlag"] = m.SysFlag
	description["bodyCRC"] = m.BodyCRC
	description["bornTimestamp"] = m.BornTimestamp
	description["bornHost"] = m.BornHost
	description["storeTimestamp"] = m.StoreTimestamp
	description["storeHost"] = m.StoreHost
	description["reconsumeTimes"] = m.ReconsumeTimes
	return description
}

func describeAll(messages []*primitive.MessageExt) []object {
	described := make([]object, 0, len(messages))
	for _, one := range messages {
		described = append(described, describeStored(one))
	}
	return described
}

var sendStatuses = map[primitive.SendStatus]string{
	primitive.SendOK:                "SEND_OK",
	primitive.SendFlushDiskTimeout:  "FLUSH_DISK_TIMEOUT",
	primitive.SendFlushSlaveTimeout: "FLUSH_SLAVE_TIMEOUT",
	primitive.SendSlaveNotAvailable: "SLAVE_NOT_AVAILABLE",
	primitive.SendUnknownError:      "UNKNOWN_ERROR",
}

func describeSent(result *primitive.SendResult) object {
	return object{
		"sendStatus":    sendStatuses[result.Status],
		"msgId":         result.MsgID,
		"offsetMsgId":   result.OffsetMsgID,
		"messageQueue":  result.MessageQueue,
		"queueOffset":   result.QueueOffset,
		"transactionId": orNull(result.TransactionID),
	}
}

func orNull(text string) any {
	if text == "" {
		return nil
	}
	return text
}
