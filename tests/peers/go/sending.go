package main

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/apache/rocketmq-client-go/v2"
	"github.com/apache/rocketmq-client-go/v2/primitive"
	"github.com/apache/rocketmq-client-go/v2/producer"
)

// sending is a producer, or a transactional one that answers checks as its script says.
type sending struct {
	name        string
	plain       rocketmq.Producer
	transaction rocketmq.TransactionProducer
	script      atomic.Pointer[script]
	answering   sync.Mutex
}

func newSending(c *command) (*sending, error) {
	s := &sending{name: c.Client}
	s.script.Store(&script{})
	chosen := producerOptions(c)
	var err error
	if c.Transactional {
		if s.transaction, err = rocketmq.NewTransactionProducer(s, chosen...); err == nil {
			err = s.transaction.Start()
		}
	} else if s.plain, err = rocketmq.NewProducer(chosen...); err == nil {
		err = s.plain.Start()
	}
	return s, err
}

func producerOptions(c *command) []producer.Option {
	chosen := []producer.Option{
		producer.WithGroupName(c.Group),
		producer.WithNsResolver(primitive.NewPassthroughResolver([]string{c.Nameserver})),
		producer.WithInstanceName(c.instanceName()),
		producer.WithVIPChannel(false),
		producer.WithCredentials(c.credentials()),
		producer.WithQueueSelector(chosenQueue{sharded: producer.NewHashQueueSelector(), other: producer.NewRoundRobinQueueSelector()}),
	}
	if c.Options.Retries != nil {
		chosen = append(chosen, producer.WithRetry(*c.Options.Retries))
	}
	if c.Options.CompressOver != nil {
		chosen = append(chosen, producer.WithCompressMsgBodyOverHowmuch(*c.Options.CompressOver))
	}
	if c.Options.Namespace != nil {
		chosen = append(chosen, producer.WithNamespace(*c.Options.Namespace))
	}
	return chosen
}

// chosenQueue: the message's own queue, else by its sharding key, else in turn.
type chosenQueue struct {
	sharded, other producer.QueueSelector
}

func (s chosenQueue) Select(m *primitive.Message, all []*primitive.MessageQueue, last string) *primitive.MessageQueue {
	if m.Queue != nil {
		return m.Queue
	}
	if m.GetShardingKey() != "" {
		return s.sharded.Select(m, all, last)
	}
	return s.other.Select(m, all, last)
}

func (s *sending) send(c *command) (any, error) {
	if s.plain == nil {
		return nil, errors.New("a transactional producer only transacts")
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(c.Timeout)*time.Millisecond)
	defer cancel()
	messages := make([]*primitive.Message, 0, len(c.Messages))
	for i := range c.Messages {
		messages = append(messages, c.Messages[i].build(c.Queue, c.Shard))
	}
	switch {
	case c.Batch:
		result, err := s.plain.SendSync(ctx, messages...)
		return described(result, err)
	case c.Mode == "oneway":
		return s.sendOneway(ctx, messages)
	case c.Mode == "async":
		return s.sendAsync(ctx, messages)
	}
	return s.sendSync(ctx, messages)
}

func (s *sending) sendSync(ctx context.Context, messages []*primitive.Message) (any, error) {
	results := []object{}
	for _, one := range messages {
		result, err := s.plain.SendSync(ctx, one)
		if err != nil {
			return nil, err
		}
		results = append(results, describeSent(result))
	}
	return results, nil
}

func (s *sending) sendAsync(ctx context.Context, messages []*primitive.Message) (any, error) {
	results, failures := make([]object, len(messages)), make([]error, len(messages))
	var waiting sync.WaitGroup
	for i, one := range messages {
		waiting.Add(1)
		err := s.plain.SendAsync(ctx, func(_ context.Context, result *primitive.SendResult, err error) {
			if failures[i] = err; err == nil {
				results[i] = describeSent(result)
			}
			waiting.Done()
		}, one)
		if err != nil {
			return nil, err
		}
	}
	waiting.Wait()
	return results, errors.Join(failures...)
}

func (s *sending) sendOneway(ctx context.Context, messages []*primitive.Message) (any, error) {
	for _, one := range messages {
		if err := s.plain.SendOneWay(ctx, one); err != nil {
			return nil, err
		}
	}
	return []object{}, nil
}

func described(result *primitive.SendResult, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	return []object{describeSent(result)}, nil
}

func (s *sending) request(c *command) (any, error) {
	reply, err := s.plain.Request(context.Background(), time.Duration(c.Timeout)*time.Millisecond, c.Message.build(nil, nil))
	if err != nil {
		return nil, err
	}
	return describeMessage(reply), nil
}

// localStateProperty carries the scripted end of the local transaction to ExecuteLocalTransaction.
const localStateProperty = "peerLocalState"

func (s *sending) transact(c *command) (any, error) {
	built := c.Message.build(nil, nil)
	built.WithProperty(localStateProperty, c.State)
	result, err := s.transaction.SendMessageInTransaction(context.Background(), built)
	if err != nil {
		return nil, err
	}
	sent := describeSent(result.SendResult)
	sent["localTransactionState"] = c.State
	return sent, nil
}

var localStates = map[string]primitive.LocalTransactionState{
	"COMMIT_MESSAGE":   primitive.CommitMessageState,
	"ROLLBACK_MESSAGE": primitive.RollbackMessageState,
	"UNKNOW":           primitive.UnknowState,
}

func (s *sending) ExecuteLocalTransaction(m *primitive.Message) primitive.LocalTransactionState {
	return localStates[m.GetProperty(localStateProperty)]
}

func (s *sending) CheckLocalTransaction(m *primitive.MessageExt) primitive.LocalTransactionState {
	state := s.nextAnswer(m.GetKeys())
	emit("check", s.name, object{"message": describeStored(m), "state": state})
	return localStates[state]
}

func (s *sending) nextAnswer(key string) string {
	s.answering.Lock()
	defer s.answering.Unlock()
	now := s.script.Load()
	states, byKey := now.Checks[key]
	if !byKey {
		states = now.Check
	}
	if len(states) == 0 {
		return "UNKNOW"
	}
	if rest := states[1:]; len(rest) > 0 && byKey {
		now.Checks[key] = rest
	} else if len(rest) > 0 {
		now.Check = rest
	}
	return states[0]
}

func (s *sending) Shutdown() error {
	if s.transaction != nil {
		return s.transaction.Shutdown()
	}
	return s.plain.Shutdown()
}
