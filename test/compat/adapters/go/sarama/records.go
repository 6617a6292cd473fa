package main

import (
	"errors"
	"time"

	"github.com/IBM/sarama"

	. "millrace.test/compat/adapter"
)

func recordHandlers(handlers Handlers, bootstrap []string) {
	On(handlers, "produce", func(command Produce) (any, error) { return produce(bootstrap, command) })
	On(handlers, "consume", func(command Consume) (any, error) { return consume(bootstrap, command) })
	member := &member{}
	On(handlers, "subscribe", func(command Subscribe) (any, error) { return member.subscribe(bootstrap, command) })
	On(handlers, "poll", member.poll)
	On(handlers, "commit", member.commit)
	On(handlers, "close", member.close)
}

func produce(bootstrap []string, command Produce) (any, error) {
	producer, err := sarama.NewSyncProducer(bootstrap, producerConfig(command))
	if err != nil {
		return nil, err
	}
	defer producer.Close()
	messages := make([]*sarama.ProducerMessage, len(command.Records))
	for i, record := range command.Records {
		messages[i] = toSend(command.Topic, record)
	}
	failed := map[*sarama.ProducerMessage]error{}
	if err := producer.SendMessages(messages); err != nil {
		var each sarama.ProducerErrors
		if !errors.As(err, &each) {
			return nil, err
		}
		for _, one := range each {
			failed[one.Msg] = one.Err
		}
	}
	results := make([]Produced, len(messages))
	for i, message := range messages {
		results[i] = Produced{PartitionOffset{message.Partition, message.Offset}, failureOf(failed[message])}
		if failed[message] != nil {
			results[i].Offset = -1
		}
	}
	return map[string]any{"records": results}, nil
}

func producerConfig(command Produce) *sarama.Config {
	codecs := map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "gzip": sarama.CompressionGZIP, "snappy": sarama.CompressionSnappy,
		"lz4": sarama.CompressionLZ4, "zstd": sarama.CompressionZSTD,
	}
	acks := map[string]sarama.RequiredAcks{"all": sarama.WaitForAll, "1": sarama.WaitForLocal, "0": sarama.NoResponse}
	config := config()
	config.Producer.Return.Successes = true
	config.Producer.Compression = codecs[command.Codec]
	config.Producer.RequiredAcks = acks[command.Acks]
	if command.Idempotent {
		config.Producer.Idempotent = true
		config.Net.MaxOpenRequests = 1
	}
	if HasPartition(command.Records) {
		config.Producer.Partitioner = sarama.NewManualPartitioner
	}
	if command.MaxBytes != 0 {
		config.Producer.MaxMessageBytes = command.MaxBytes
	}
	return config
}

func toSend(topic string, record RecordIn) *sarama.ProducerMessage {
	sent := &sarama.ProducerMessage{Topic: topic}
	// An encoder of nil is an empty key or value; none is null.
	if record.Key != nil {
		sent.Key = sarama.ByteEncoder(*record.Key)
	}
	if record.Value != nil {
		sent.Value = sarama.ByteEncoder(*record.Value)
	}
	for _, header := range record.Headers {
		sent.Headers = append(sent.Headers, sarama.RecordHeader{Key: []byte(header.Name), Value: header.Value})
	}
	if record.Timestamp != nil {
		sent.Timestamp = time.UnixMilli(*record.Timestamp)
	}
	if record.Partition != nil {
		sent.Partition = *record.Partition
	}
	return sent
}

func received(message *sarama.ConsumerMessage) RecordOut {
	headers := []Header{}
	for _, header := range message.Headers {
		headers = append(headers, Header{Name: string(header.Key), Value: header.Value})
	}
	return RecordOut{
		Partition: message.Partition, Offset: message.Offset, Timestamp: message.Timestamp.UnixMilli(),
		Key: message.Key, Value: message.Value, Headers: headers,
	}
}

func consume(bootstrap []string, command Consume) (any, error) {
	consumer, err := sarama.NewConsumer(bootstrap, config())
	if err != nil {
		return nil, err
	}
	defer consumer.Close()
	partition, err := consumer.ConsumePartition(command.Topic, command.Partition, int64(command.Offset))
	if err != nil {
		return nil, err
	}
	defer partition.Close()
	records := []RecordOut{}
	timeout := time.After(time.Duration(command.TimeoutMs) * time.Millisecond)
	for len(records) < command.Count {
		select {
		case message := <-partition.Messages():
			records = append(records, received(message))
		case <-timeout:
			return map[string]any{"records": records}, nil
		}
	}
	return map[string]any{"records": records}, nil
}
