package main

import (
	"context"
	"time"

	"github.com/apache/rocketmq-client-go/v2/admin"
	"github.com/apache/rocketmq-client-go/v2/primitive"
)

// administering is the admin client. It signs nothing before it has asked for groups once, and looks at the code of no
// answer: a refusal of groups is an answer that it cannot read, and one of a topic is silence.
type administering struct {
	admin.Admin
}

func newAdministering(c *command) (*administering, error) {
	inner, err := admin.NewAdmin(
		admin.WithResolver(primitive.NewPassthroughResolver([]string{c.Nameserver})),
		admin.WithCredentials(c.credentials()),
	)
	if err != nil {
		return nil, err
	}
	return &administering{inner}, nil
}

func (a *administering) groups(c *command) (any, error) {
	found, err := a.GetAllSubscriptionGroup(context.Background(), c.Broker, time.Duration(c.Timeout)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for name := range found.SubscriptionGroupTable {
		names = append(names, name)
	}
	return names, nil
}

func (a *administering) createTopic(c *command) (any, error) {
	return nil, a.CreateTopic(context.Background(), admin.WithTopicCreate(c.Topic), admin.WithBrokerAddrCreate(c.Broker))
}

func (a *administering) Shutdown() error {
	return a.Close()
}
