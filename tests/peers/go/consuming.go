package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/consumer"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

var consumeFrom = map[string]consumer.ConsumeFromWhere{
	"CONSUME_FROM_FIRST_OFFSET": consumer.ConsumeFromFirstOffset,
	"CONSUME_FROM_LAST_OFFSET":  consumer.ConsumeFromLastOffset,
	"CONSUME_FROM_TIMESTAMP":    consumer.ConsumeFromTimestamp,
}

func consumerOptions(c *command) []consumer.Option {
	model := consumer.Clustering
	if c.Options.Broadcasting {
		model = consumer.BroadCasting
	}
	chosen := []consumer.Option{
		consumer.WithGroupName(c.Group),
		consumer.WithNsResolver(primitive.NewPassthroughResolver([]string{c.Nameserver})),
		consumer.WithInstance(c.instanceName()),
		consumer.WithVIPChannel(false),
		consumer.WithCredentials(c.credentials()),
		consumer.WithConsumerModel(model),
		consumer.WithConsumerOrder(c.Orderly),
		consumer.WithConsumeFromWhere(consumeFrom[c.Options.ConsumeFrom]),
	}
	if c.Options.ConsumeTimestamp != "" {
		chosen = append(chosen, consumer.WithConsumeTimestamp(c.Options.ConsumeTimestamp))
	}
	if c.Options.MaxReconsumeTimes != nil {
		chosen = append(chosen, consumer.WithMaxReconsumeTimes(*c.Options.MaxReconsumeTimes))
	}
	if c.Options.BatchSize != nil {
		chosen = append(chosen, consumer.WithConsumeMessageBatchMaxSize(*c.Options.BatchSize))
	}
	if c.Options.PullBatchSize != nil {
		chosen = append(chosen, consumer.WithPullBatchSize(*c.Options.PullBatchSize))
	}
	if c.Options.SuspendMs > 0 {
		wait := time.Duration(c.Options.SuspendMs) * time.Millisecond
		chosen = append(chosen, consumer.WithSuspendCurrentQueueTimeMillis(wait))
	}
	return chosen
}

func (s *subscription) selector() consumer.MessageSelector {
	if s.SQL != nil {
		return consumer.MessageSelector{Type: consumer.SQL92, Expression: *s.SQL}
	}
	return consumer.MessageSelector{Type: consumer.TAG, Expression: s.Tags}
}

// listening is a push consumer that reports every message and treats it as its script says.
type listening struct {
	rocketmq.PushConsumer
	name    string
	orderly bool
	script  atomic.Pointer[script]
}

func newListening(c *command) (*listening, error) {
	inner, err := rocketmq.NewPushConsumer(consumerOptions(c)...)
	if err != nil {
		return nil, err
	}
	l := &listening{PushConsumer: inner, name: c.Client, orderly: c.Orderly}
	l.script.Store(&c.Script)
	for _, one := range c.Subscriptions {
		if err := inner.Subscribe(one.Topic, one.selector(), l.consume); err != nil {
			return nil, err
		}
	}
	return l, inner.Start()
}

func (l *listening) consume(ctx context.Context, messages ...*primitive.MessageExt) (consumer.ConsumeResult, error) {
	now := l.script.Load()
	good := true
	for _, one := range messages {
		good = good && one.ReconsumeTimes >= now.FailTimes
	}
	for _, one := range messages {
		emit("message", l.name, object{"message": describeStored(one), "batch": len(messages), "good": good})
	}
	time.Sleep(time.Duration(now.SleepMs) * time.Millisecond)
	if concurrently, ok := primitive.GetConcurrentlyCtx(ctx); ok && now.DelayLevel != nil {
		concurrently.DelayLevelWhenNextConsume = *now.DelayLevel
	}
	switch {
	case good:
		return consumer.ConsumeSuccess, nil
	case l.orderly:
		return consumer.SuspendCurrentQueueAMoment, nil
	}
	return consumer.ConsumeRetryLater, nil
}

// pulling is a pull consumer: Poll with acknowledgement, or PullFrom a queue and an offset.
type pulling struct {
	rocketmq.PullConsumer
	mutex sync.Mutex
}

func newPulling(c *command) (*pulling, error) {
	inner, err := rocketmq.NewPullConsumer(consumerOptions(c)...)
	if err != nil {
		return nil, err
	}
	p := &pulling{PullConsumer: inner}
	for _, one := range c.Subscriptions {
		if err := inner.Subscribe(one.Topic, one.selector()); err != nil {
			return nil, err
		}
	}
	return p, inner.Start()
}

func (p *pulling) poll(c *command) (any, error) {
	found, err := p.Poll(context.Background(), time.Duration(c.Timeout)*time.Millisecond)
	if errors.Is(err, consumer.ErrNoNewMsg) || consumer.IsNoNewMsgError(err) {
		return []object{}, nil
	}
	if err != nil {
		return nil, err
	}
	messages := describeAll(found.GetMsgList())
	p.ACK(context.Background(), found, consumer.ConsumeSuccess)
	return messages, nil
}

var pullStatuses = map[primitive.PullStatus]string{
	primitive.PullFound:         "FOUND",
	primitive.PullNoNewMsg:      "NO_NEW_MSG",
	primitive.PullNoMsgMatched:  "NO_MATCHED_MSG",
	primitive.PullOffsetIllegal: "OFFSET_ILLEGAL",
	primitive.PullBrokerTimeout: "BROKER_TIMEOUT",
}

func (p *pulling) pullFrom(c *command) (any, error) {
	result, err := p.PullFrom(context.Background(), c.Queue.build(), c.Offset, c.Limit)
	if err != nil {
		return nil, err
	}
	return object{
		"pullStatus":      pullStatuses[result.Status],
		"nextBeginOffset": result.NextBeginOffset,
		"minOffset":       result.MinOffset,
		"maxOffset":       result.MaxOffset,
		"messages":        describeAll(result.GetMessageExts()),
	}, nil
}

// commit sets the offset of a queue and stores the offsets at the broker.
func (p *pulling) commit(c *command) (any, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if err := p.UpdateOffset(c.Queue.build(), c.Offset); err != nil {
		return nil, err
	}
	return nil, p.PersistOffset(context.Background(), c.Queue.Topic)
}
