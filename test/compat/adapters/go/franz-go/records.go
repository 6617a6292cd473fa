package main

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	. "millrace.test/compat/adapter"
)

func recordHandlers(handlers Handlers, bootstrap string) {
	On(handlers, "produce", func(command Produce) (any, error) { return produce(bootstrap, command) })
	On(handlers, "consume", func(command Consume) (any, error) { return consume(bootstrap, command) })
	member := &member{assigned: map[TopicPartition]bool{}}
	On(handlers, "subscribe", func(command Subscribe) (any, error) { return member.subscribe(bootstrap, command) })
	On(handlers, "poll", member.poll)
	On(handlers, "commit", member.commit)
	On(handlers, "close", member.close)
}

func produce(bootstrap string, command Produce) (any, error) {
	client := connect(bootstrap, producerOptions(command)...)
	defer client.Close()
	results := make([]Produced, len(command.Records))
	var all sync.WaitGroup
	for i, record := range command.Records {
		all.Add(1)
		client.Produce(context.Background(), toSend(command.Topic, record), func(sent *kgo.Record, err error) {
			defer all.Done()
			results[i] = Produced{PartitionOffset{sent.Partition, sent.Offset}, failureOf(err)}
			if err != nil {
				results[i].Offset = -1
			}
		})
	}
	all.Wait()
	return map[string]any{"records": results}, nil
}

func producerOptions(command Produce) []kgo.Opt {
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	acks := map[string]kgo.Acks{"all": kgo.AllISRAcks(), "1": kgo.LeaderAck(), "0": kgo.NoAck()}
	options := []kgo.Opt{
		kgo.ProducerBatchCompression(codecs[command.Codec]),
		kgo.RequiredAcks(acks[command.Acks]),
	}
	if !command.Idempotent {
		options = append(options, kgo.DisableIdempotentWrite())
	}
	if HasPartition(command.Records) {
		options = append(options, kgo.RecordPartitioner(kgo.ManualPartitioner()))
	}
	if command.MaxBytes != 0 {
		options = append(options, kgo.ProducerBatchMaxBytes(int32(command.MaxBytes)))
	}
	return options
}

func toSend(topic string, record RecordIn) *kgo.Record {
	sent := &kgo.Record{Topic: topic, Key: record.Key.Of(), Value: record.Value.Of()}
	for _, header := range record.Headers {
		sent.Headers = append(sent.Headers, kgo.RecordHeader{Key: header.Name, Value: header.Value})
	}
	if record.Timestamp != nil {
		sent.Timestamp = time.UnixMilli(*record.Timestamp)
	}
	if record.Partition != nil {
		sent.Partition = *record.Partition
	}
	return sent
}

func received(record *kgo.Record) RecordOut {
	kind := "create"
	if record.Attrs.TimestampType() == 1 {
		kind = "append"
	}
	headers := []Header{}
	for _, header := range record.Headers {
		headers = append(headers, Header{Name: header.Key, Value: header.Value})
	}
	return RecordOut{
		Partition: record.Partition, Offset: record.Offset,
		Timestamp: record.Timestamp.UnixMilli(), TimestampType: kind,
		Key: record.Key, Value: record.Value, Headers: headers,
	}
}

func consume(bootstrap string, command Consume) (any, error) {
	from := kgo.NewOffset().At(int64(command.Offset))
	client := connect(bootstrap, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{
		command.Topic: {command.Partition: from},
	}))
	defer client.Close()
	records := []RecordOut{}
	deadline := time.Now().Add(time.Duration(command.TimeoutMs) * time.Millisecond)
	for len(records) < command.Count && time.Now().Before(deadline) {
		more, err := pollFor(client, time.Until(deadline), command.Count-len(records))
		if err != nil {
			return nil, err
		}
		records = append(records, more...)
	}
	return map[string]any{"records": records}, nil
}

func pollFor(client *kgo.Client, wait time.Duration, max int) ([]RecordOut, error) {
	limited, cancel := context.WithTimeout(context.Background(), wait)
	defer cancel()
	fetches := client.PollRecords(limited, max)
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return nil, failed.Err
		}
	}
	records := []RecordOut{}
	fetches.EachRecord(func(record *kgo.Record) { records = append(records, received(record)) })
	return records, nil
}

type member struct {
	client   *kgo.Client
	lock     sync.Mutex
	assigned map[TopicPartition]bool
}

func (m *member) subscribe(bootstrap string, command Subscribe) (any, error) {
	reset := kgo.NewOffset().AtStart()
	if command.Reset == "latest" {
		reset = kgo.NewOffset().AtEnd()
	}
	session := time.Duration(command.SessionTimeoutMs) * time.Millisecond
	options := []kgo.Opt{
		kgo.ConsumerGroup(command.Group), kgo.ConsumeTopics(command.Topics...), kgo.ConsumeResetOffset(reset),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(m.changed(true)), kgo.OnPartitionsRevoked(m.changed(false)), kgo.OnPartitionsLost(m.changed(false)),
	}
	if command.Protocol == "consumer" {
		options = append(options, kgo.ServerSideBalancer())
	} else {
		options = append(options, kgo.SessionTimeout(session), kgo.HeartbeatInterval(min(500*time.Millisecond, session/3)))
	}
	if command.InstanceID != nil {
		options = append(options, kgo.InstanceID(*command.InstanceID))
	}
	m.client = connect(bootstrap, options...)
	return Nothing{}, nil
}

func (m *member) changed(has bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, _ *kgo.Client, changed map[string][]int32) {
		m.lock.Lock()
		defer m.lock.Unlock()
		for topic, partitions := range changed {
			for _, partition := range partitions {
				if has {
					m.assigned[TopicPartition{Topic: topic, Partition: partition}] = true
				} else {
					delete(m.assigned, TopicPartition{Topic: topic, Partition: partition})
				}
			}
		}
	}
}

func (m *member) poll(command Poll) (any, error) {
	records, err := pollFor(m.client, time.Duration(command.ForMs)*time.Millisecond, command.Max)
	if err != nil {
		return nil, err
	}
	m.lock.Lock()
	defer m.lock.Unlock()
	assignment := []TopicPartition{}
	for partition := range m.assigned {
		assignment = append(assignment, partition)
	}
	return map[string]any{"records": records, "assignment": assignment}, nil
}

func (m *member) commit(Nothing) (any, error) {
	return Nothing{}, m.client.CommitUncommittedOffsets(context.Background())
}

func (m *member) close(Nothing) (any, error) {
	err := m.client.LeaveGroupContext(context.Background())
	m.client.Close()
	return Nothing{}, err
}
