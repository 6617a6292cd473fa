package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	. "millrace.test/compat/adapter"
)

// A member of a group. Its Reader hides which partitions it has, so this is the ConsumerGroup below it, as its
// documentation shows it: one Reader for each partition of a generation.
type member struct {
	group    *kafka.ConsumerGroup
	messages chan handedOver
	failed   chan error
	stop     context.CancelFunc
	lock     sync.Mutex
	current  *kafka.Generation
	// What poll has returned of the generation, and is to be committed.
	next map[string]map[int]int64
}

type handedOver struct {
	message    kafka.Message
	generation *kafka.Generation
}

func (m *member) subscribe(bootstrap string, command Subscribe) (any, error) {
	session := time.Duration(command.SessionTimeoutMs) * time.Millisecond
	start := kafka.FirstOffset
	if command.Reset == "latest" {
		start = kafka.LastOffset
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: command.Group, Brokers: []string{bootstrap}, Topics: command.Topics, StartOffset: start,
		SessionTimeout: session, HeartbeatInterval: min(500*time.Millisecond, session/3),
	})
	if err != nil {
		return nil, err
	}
	running, stop := context.WithCancel(ctx)
	*m = member{group: group, messages: make(chan handedOver), failed: make(chan error, 64), stop: stop}
	go m.run(running, bootstrap)
	return Nothing{}, nil
}

func (m *member) run(running context.Context, bootstrap string) {
	for {
		generation, err := m.group.Next(running)
		if errors.Is(err, kafka.ErrGroupClosed) || running.Err() != nil {
			return
		}
		// Next is asked again by its users; the group joins again by itself.
		if known := kafka.Error(0); errors.As(err, &known) && known.Temporary() {
			continue
		}
		if err != nil {
			m.failed <- err
			return
		}
		m.begin(generation)
		for topic, partitions := range generation.Assignments {
			for _, partition := range partitions {
				generation.Start(func(ctx context.Context) {
					m.read(ctx, generation, bootstrap, topic, partition)
				})
			}
		}
	}
}

func (m *member) begin(generation *kafka.Generation) {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.current = generation
	m.next = map[string]map[int]int64{}
}

func (m *member) read(ctx context.Context, generation *kafka.Generation, bootstrap, topic string, partition kafka.PartitionAssignment) {
	from, err := reader(bootstrap, topic, partition.ID, partition.Offset)
	if err != nil {
		m.failed <- err
		return
	}
	defer from.Close()
	for {
		message, err := from.ReadMessage(ctx)
		if ctx.Err() != nil || errors.Is(err, kafka.ErrGenerationEnded) {
			return
		}
		if err != nil {
			m.failed <- err
			return
		}
		select {
		case m.messages <- handedOver{message, generation}:
		case <-ctx.Done():
			return
		}
	}
}

func (m *member) poll(command Poll) (any, error) {
	records := []RecordOut{}
	wait := time.After(time.Duration(command.ForMs) * time.Millisecond)
	for len(records) < command.Max {
		select {
		case one := <-m.messages:
			m.returned(one)
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

func (m *member) returned(one handedOver) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if one.generation != m.current {
		return
	}
	topic := one.message.Topic
	if m.next[topic] == nil {
		m.next[topic] = map[int]int64{}
	}
	m.next[topic][one.message.Partition] = one.message.Offset + 1
}

func (m *member) assignment() []TopicPartition {
	m.lock.Lock()
	defer m.lock.Unlock()
	assignment := []TopicPartition{}
	if m.current == nil {
		return assignment
	}
	for topic, partitions := range m.current.Assignments {
		for _, partition := range partitions {
			assignment = append(assignment, TopicPartition{Topic: topic, Partition: int32(partition.ID)})
		}
	}
	return assignment
}

func (m *member) commit(Nothing) (any, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if m.current == nil {
		return nil, errors.New("no generation to commit in")
	}
	return Nothing{}, m.current.CommitOffsets(m.next)
}

func (m *member) close(Nothing) (any, error) {
	m.stop()
	return Nothing{}, m.group.Close()
}
