package main

import (
	"context"
	"errors"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/compress"

	. "millrace.test/compat/adapter"
)

var ctx = context.Background()

func recordHandlers(handlers Handlers, bootstrap string) {
	On(handlers, "produce", func(command Produce) (any, error) { return produce(bootstrap, command) })
	On(handlers, "consume", func(command Consume) (any, error) { return consume(bootstrap, command) })
	member := &member{}
	On(handlers, "subscribe", func(command Subscribe) (any, error) { return member.subscribe(bootstrap, command) })
	On(handlers, "poll", member.poll)
	On(handlers, "commit", member.commit)
	On(handlers, "close", member.close)
}

func produce(bootstrap string, command Produce) (any, error) {
	codecs := map[string]kafka.Compression{
		"gzip": compress.Gzip, "snappy": compress.Snappy, "lz4": compress.Lz4, "zstd": compress.Zstd,
	}
	acks := map[string]kafka.RequiredAcks{"all": kafka.RequireAll, "1": kafka.RequireOne, "0": kafka.RequireNone}
	client, disconnect := connect(bootstrap)
	defer disconnect()
	writer := &kafka.Writer{
		Addr: kafka.TCP(bootstrap), Topic: command.Topic,
		Compression: codecs[command.Codec], RequiredAcks: acks[command.Acks],
		Transport: client.Transport,
		// A second, if it is not said.
		BatchTimeout: 10 * time.Millisecond,
	}
	defer writer.Close()
	// It chooses by a balancer alone; what that is given is the message as it was handed over.
	if HasPartition(command.Records) {
		writer.Balancer = kafka.BalancerFunc(func(message kafka.Message, partitions ...int) int {
			return message.WriterData.(int)
		})
	} else {
		writer.Balancer = &kafka.Murmur2Balancer{}
	}
	if command.MaxBytes != 0 {
		writer.BatchBytes = int64(command.MaxBytes)
	}
	return written(writer, command)
}

func written(writer *kafka.Writer, command Produce) (any, error) {
	messages := make([]kafka.Message, len(command.Records))
	results := make([]Produced, len(command.Records))
	for i, record := range command.Records {
		messages[i] = toSend(record)
		// Its Writer does not tell offsets.
		results[i] = Produced{PartitionOffset: PartitionOffset{Partition: -1, Offset: -1}}
	}
	err := writer.WriteMessages(ctx, messages...)
	var each kafka.WriteErrors
	if errors.As(err, &each) {
		for i := range each {
			results[i].Error = failureOf(each[i])
		}
	} else if err != nil {
		return nil, err
	}
	return map[string]any{"records": results}, nil
}

func toSend(record RecordIn) kafka.Message {
	sent := kafka.Message{Key: record.Key.Of(), Value: record.Value.Of()}
	for _, header := range record.Headers {
		sent.Headers = append(sent.Headers, kafka.Header{Key: header.Name, Value: header.Value})
	}
	if record.Timestamp != nil {
		sent.Time = time.UnixMilli(*record.Timestamp)
	}
	if record.Partition != nil {
		sent.WriterData = int(*record.Partition)
	}
	return sent
}

func received(message kafka.Message) RecordOut {
	headers := []Header{}
	for _, header := range message.Headers {
		headers = append(headers, Header{Name: header.Key, Value: header.Value})
	}
	return RecordOut{
		Partition: int32(message.Partition), Offset: message.Offset, Timestamp: message.Time.UnixMilli(),
		Key: message.Key, Value: message.Value, Headers: headers,
	}
}

func reader(bootstrap string, topic string, partition int, offset int64) (*kafka.Reader, error) {
	made := kafka.NewReader(kafka.ReaderConfig{
		Brokers: []string{bootstrap}, Topic: topic, Partition: partition, MaxWait: 500 * time.Millisecond,
	})
	return made, made.SetOffset(offset)
}

func consume(bootstrap string, command Consume) (any, error) {
	offset := int64(command.Offset)
	switch command.Offset {
	case Earliest:
		offset = kafka.FirstOffset
	case Latest:
		offset = kafka.LastOffset
	}
	from, err := reader(bootstrap, command.Topic, int(command.Partition), offset)
	if err != nil {
		return nil, err
	}
	defer from.Close()
	limited, cancel := context.WithTimeout(ctx, time.Duration(command.TimeoutMs)*time.Millisecond)
	defer cancel()
	records := []RecordOut{}
	for len(records) < command.Count {
		message, err := from.ReadMessage(limited)
		if errors.Is(err, context.DeadlineExceeded) {
			break
		}
		if err != nil {
			return nil, err
		}
		records = append(records, received(message))
	}
	return map[string]any{"records": records}, nil
}
