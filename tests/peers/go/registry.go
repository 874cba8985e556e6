package main

import (
	"fmt"
	"sync"

	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// command has the arguments of every op; which ones count depends on Op.
type command struct {
	ID            int64
	Op            string
	Client        string
	Group         string
	Nameserver    string
	Transactional bool
	ACL           []string
	Options       options
	Subscriptions []subscription
	Orderly       bool
	Script        script
	Messages      []message
	Message       message
	Mode          string
	Batch         bool
	Queue         *queue
	Shard         *string
	Timeout       int64
	State         string
	Offset        int64
	Limit         int
	Broker        string
	Topic         string
}

type options struct {
	Retries           *int
	CompressOver      *int
	Namespace         *string
	Broadcasting      bool
	ConsumeFrom       string
	ConsumeTimestamp  string
	MaxReconsumeTimes *int32
	BatchSize         *int
	PullBatchSize     *int32
	SuspendMs         int64
}

type subscription struct {
	Topic string
	Tags  string
	SQL   *string
}

// script says how a listener behaves: a consumer fails messages while their reconsume times are below FailTimes; a
// transactional producer answers checks by the message's key or else from Check, each list from its front, its last stays.
type script struct {
	FailTimes  int32
	SleepMs    int64
	DelayLevel *int
	Check      []string
	Checks     map[string][]string
}

type client interface {
	Shutdown() error
}

type registry struct {
	mutex     sync.Mutex
	clients   map[string]client
	sending   map[string]*sending
	listening map[string]*listening
	pulling   map[string]*pulling
	admins    map[string]*administering
}

func newRegistry() *registry {
	return &registry{
		clients:   map[string]client{},
		sending:   map[string]*sending{},
		listening: map[string]*listening{},
		pulling:   map[string]*pulling{},
		admins:    map[string]*administering{},
	}
}

func (r *registry) run(c *command) (any, error) {
	switch c.Op {
	case "ping":
		return "pong", nil
	case "producer":
		made, err := newSending(c)
		return register(r, r.sending, c.Client, made, err)
	case "push_consumer":
		made, err := newListening(c)
		return register(r, r.listening, c.Client, made, err)
	case "pull_consumer":
		made, err := newPulling(c)
		return register(r, r.pulling, c.Client, made, err)
	case "admin":
		made, err := newAdministering(c)
		return register(r, r.admins, c.Client, made, err)
	case "send":
		return with(r, r.sending, c, (*sending).send)
	case "request":
		return with(r, r.sending, c, (*sending).request)
	case "transact":
		return with(r, r.sending, c, (*sending).transact)
	case "poll":
		return with(r, r.pulling, c, (*pulling).poll)
	case "pull_from":
		return with(r, r.pulling, c, (*pulling).pullFrom)
	case "commit":
		return with(r, r.pulling, c, (*pulling).commit)
	case "groups":
		return with(r, r.admins, c, (*administering).groups)
	case "create_topic":
		return with(r, r.admins, c, (*administering).createTopic)
	case "script":
		return nil, r.setScript(c)
	case "shutdown":
		return nil, r.shutdown(c.Client)
	}
	return nil, fmt.Errorf("no command %s", c.Op)
}

func register[T client](r *registry, table map[string]T, name string, made T, err error) (any, error) {
	if err != nil {
		return nil, err
	}
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.clients[name], table[name] = made, made
	return nil, nil
}

func with[T any](r *registry, table map[string]T, c *command, do func(T, *command) (any, error)) (any, error) {
	r.mutex.Lock()
	found, ok := table[c.Client]
	r.mutex.Unlock()
	if !ok {
		return nil, fmt.Errorf("no client %s for %s", c.Client, c.Op)
	}
	return do(found, c)
}

func (r *registry) setScript(c *command) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if producer, ok := r.sending[c.Client]; ok {
		producer.script.Store(&c.Script)
		return nil
	}
	if consumer, ok := r.listening[c.Client]; ok {
		consumer.script.Store(&c.Script)
		return nil
	}
	return fmt.Errorf("no client %s", c.Client)
}

func (r *registry) shutdown(name string) error {
	r.mutex.Lock()
	gone, ok := r.clients[name]
	delete(r.clients, name)
	delete(r.sending, name)
	delete(r.listening, name)
	delete(r.pulling, name)
	delete(r.admins, name)
	r.mutex.Unlock()
	if !ok {
		return fmt.Errorf("no client %s", name)
	}
	return gone.Shutdown()
}

// instanceName keeps the clients of one process apart: equal names would share connections and subscriptions.
func (c *command) instanceName() string {
	return fmt.Sprintf("%s#%d", c.Client, primitive.Pid())
}

func (c *command) credentials() primitive.Credentials {
	if len(c.ACL) < 2 {
		return primitive.Credentials{}
	}
	return primitive.Credentials{AccessKey: c.ACL[0], SecretKey: c.ACL[1]}
}
