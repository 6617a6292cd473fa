package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/IBM/sarama"

	. "millrace.test/compat/adapter"
)

// A member of a group; its claims hand over one message at a time, so none is left over from an earlier generation.
type member struct {
	group    sarama.ConsumerGroup
	messages chan handedOver
	failed   chan error
	stop     context.CancelFunc
	lock     sync.Mutex
	session  sarama.ConsumerGroupSession
}

type handedOver struct {
	message *sarama.ConsumerMessage
	session sarama.ConsumerGroupSession
}

func (m *member) subscribe(bootstrap []string, command Subscribe) (any, error) {
	config := config()
	session := time.Duration(command.SessionTimeoutMs) * time.Millisecond
	config.Consumer.Group.Session.Timeout = session
	config.Consumer.Group.Heartbeat.Interval = min(500*time.Millisecond, session/3)
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	if command.Reset == "latest" {
		config.Consumer.Offsets.Initial = sarama.OffsetNewest
	}
	if command.InstanceID != nil {
		config.Consumer.Group.InstanceId = *command.InstanceID
	}
	group, err := sarama.NewConsumerGroup(bootstrap, command.Group, config)
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(context.Background())
	*m = member{group: group, messages: make(chan handedOver), failed: make(chan error, 1), stop: stop}
	go m.run(running, command.Topics)
	return Nothing{}, nil
}

func (m *member) run(running context.Context, topics []string) {
	for running.Err() == nil {
		err := m.group.Consume(running, topics, m)
		if errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return
		}
		if err != nil {
			m.failed <- err
			return
		}
	}
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = session
	return nil
}

func (m *member) Cleanup(sarama.ConsumerGroupSession) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.session = nil
	return nil
}

func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for {
		select {
		case message, ok := <-claim.Messages():
			if !ok {
				return nil
			}
			select {
			case m.messages <- handedOver{message, session}:
			case <-session.Context().Done():
				return nil
			}
		case <-session.Context().Done():
			return nil
		}
	}
}

func (m *member) poll(command Poll) (any, error) {
	records := []RecordOut{}
	wait := time.After(time.Duration(command.ForMs) * time.Millisecond)
	for len(records) < command.Max {
		select {
		case one := <-m.messages:
			one.session.MarkMessage(one.message, "")
			records = append(records, received(one.message))
			// What is there at once comes with the first one.
			wait = time.After(5 * time.Millisecond)
			continue
		case err := <-m.failed:
			return nil, err
		case <-wait:
		}
		break
	}
	return map[string]any{"records": records, "assignment": m.assignment()}, nil
}

func (m *member) assignment() []TopicPartition {
	m.lock.Lock()
	defer m.lock.Unlock()
	assignment := []TopicPartition{}
	if m.session == nil {
		return assignment
	}
	for topic, partitions := range m.session.Claims() {
		for _, partition := range partitions {
			assignment = append(assignment, TopicPartition{Topic: topic, Partition: partition})
		}
	}
	return assignment
}

func (m *member) commit(Nothing) (any, error) {
	m.lock.Lock()
	session := m.session
	m.lock.Unlock()
	if session == nil {
		return nil, errors.New("no session to commit in")
	}
	session.Commit()
	return Nothing{}, nil
}

func (m *member) close(Nothing) (any, error) {
	m.stop()
	return Nothing{}, m.group.Close()
}
