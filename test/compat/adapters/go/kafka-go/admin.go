package main

import (
	"github.com/segmentio/kafka-go"

	. "millrace.test/compat/adapter"
)

func adminHandlers(handlers Handlers, bootstrap string) {
	topicHandlers(handlers, bootstrap)
	offsetHandlers(handlers, bootstrap)
	configHandlers(handlers, bootstrap)
	groupHandlers(handlers, bootstrap)
}

// ask adds a handler that asks with a client of its own.
func ask[C any](handlers Handlers, bootstrap, op string, handle func(*kafka.Client, C) (any, error)) {
	On(handlers, op, func(command C) (any, error) {
		client, disconnect := connect(bootstrap)
		defer disconnect()
		return handle(client, command)
	})
}

func topicHandlers(handlers Handlers, bootstrap string) {
	ask(handlers, bootstrap, "createTopics", func(client *kafka.Client, command CreateTopics) (any, error) {
		wanted := []kafka.TopicConfig{}
		for _, topic := range command.Topics {
			config := kafka.TopicConfig{
				Topic: topic.Name, NumPartitions: int(topic.Partitions), ReplicationFactor: int(topic.ReplicationFactor),
			}
			for name, value := range topic.Configs {
				config.ConfigEntries = append(config.ConfigEntries, kafka.ConfigEntry{ConfigName: name, ConfigValue: value})
			}
			wanted = append(wanted, config)
		}
		created, err := client.CreateTopics(ctx, &kafka.CreateTopicsRequest{Topics: wanted, ValidateOnly: command.ValidateOnly})
		if err != nil {
			return nil, err
		}
		results := []NamedResult{}
		for _, topic := range command.Topics {
			results = append(results, NamedResult{Name: topic.Name, Error: failureOf(created.Errors[topic.Name])})
		}
		return map[string]any{"topics": results}, nil
	})
	ask(handlers, bootstrap, "deleteTopics", func(client *kafka.Client, command Topics) (any, error) {
		deleted, err := client.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: command.Topics})
		if err != nil {
			return nil, err
		}
		results := []NamedResult{}
		for _, topic := range command.Topics {
			results = append(results, NamedResult{Name: topic, Error: failureOf(deleted.Errors[topic])})
		}
		return map[string]any{"topics": results}, nil
	})
	ask(handlers, bootstrap, "createPartitions", func(client *kafka.Client, command CreatePartitions) (any, error) {
		topic := kafka.TopicPartitionsConfig{Name: command.Topic, Count: command.Total}
		made, err := client.CreatePartitions(ctx, &kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{topic}})
		if err != nil {
			return nil, err
		}
		return Nothing{}, made.Errors[command.Topic]
	})
	ask(handlers, bootstrap, "describeTopic", func(client *kafka.Client, command Topic) (any, error) {
		answer, err := client.Metadata(ctx, &kafka.MetadataRequest{Topics: []string{command.Topic}})
		if err != nil {
			return nil, err
		}
		partitions := []PartitionInfo{}
		for _, each := range answer.Topics[0].Partitions {
			partitions = append(partitions, PartitionInfo{int32(each.ID), int32(each.Leader.ID), idsOf(each.Replicas), idsOf(each.Isr)})
		}
		return map[string]any{"partitions": partitions}, answer.Topics[0].Error
	})
}

func idsOf(brokers []kafka.Broker) []int32 {
	ids := []int32{}
	for _, broker := range brokers {
		ids = append(ids, int32(broker.ID))
	}
	return ids
}

func offsetHandlers(handlers Handlers, bootstrap string) {
	list := func(client *kafka.Client, topic string, wanted ...kafka.OffsetRequest) ([]kafka.PartitionOffsets, error) {
		request := &kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: wanted}}
		answer, err := client.ListOffsets(ctx, request)
		if err != nil {
			return nil, err
		}
		return answer.Topics[topic], nil
	}
	ask(handlers, bootstrap, "listOffsets", func(client *kafka.Client, command ListOffsets) (any, error) {
		offsets := []PartitionOffset{}
		for _, partition := range command.Partitions {
			wanted := kafka.FirstOffsetOf(int(partition))
			if command.At == "latest" {
				wanted = kafka.LastOffsetOf(int(partition))
			}
			found, err := list(client, command.Topic, wanted)
			if err != nil {
				return nil, err
			}
			if found[0].Error != nil {
				return nil, found[0].Error
			}
			// The field that was not asked for is -1.
			offsets = append(offsets, PartitionOffset{partition, max(found[0].FirstOffset, found[0].LastOffset)})
		}
		return map[string]any{"offsets": offsets}, nil
	})
	ask(handlers, bootstrap, "offsetsForTimes", func(client *kafka.Client, command OffsetsForTimes) (any, error) {
		offsets := []TimedOffset{}
		for _, timestamp := range command.Timestamps {
			found, err := list(client, command.Topic, kafka.OffsetRequest{Partition: int(command.Partition), Timestamp: timestamp})
			if err != nil {
				return nil, err
			}
			if found[0].Error != nil {
				return nil, found[0].Error
			}
			timed := TimedOffset{timestamp, nil}
			for offset := range found[0].Offsets {
				if offset >= 0 {
					timed.Offset = offset
				}
			}
			offsets = append(offsets, timed)
		}
		return map[string]any{"offsets": offsets}, nil
	})
}

func kindOf(resource Resource) kafka.ResourceType {
	if resource.Kind == "topic" {
		return kafka.ResourceTypeTopic
	}
	return kafka.ResourceTypeBroker
}

func configHandlers(handlers Handlers, bootstrap string) {
	ask(handlers, bootstrap, "describeConfigs", func(client *kafka.Client, command Resource) (any, error) {
		answer, err := client.DescribeConfigs(ctx, &kafka.DescribeConfigsRequest{
			Resources: []kafka.DescribeConfigRequestResource{{ResourceType: kindOf(command), ResourceName: command.Name}},
		})
		if err != nil {
			return nil, err
		}
		configs := []Config{}
		for _, entry := range answer.Resources[0].ConfigEntries {
			source := int(entry.ConfigSource)
			configs = append(configs, Config{entry.ConfigName, &entry.ConfigValue, &entry.ReadOnly, &entry.IsSensitive, &source})
		}
		return map[string]any{"configs": configs}, answer.Resources[0].Error
	})
	ask(handlers, bootstrap, "alterConfigs", func(client *kafka.Client, command AlterConfigs) (any, error) {
		changes := []kafka.IncrementalAlterConfigsRequestConfig{}
		for name, value := range command.Set {
			changes = append(changes, kafka.IncrementalAlterConfigsRequestConfig{
				Name: name, Value: value, ConfigOperation: kafka.ConfigOperationSet,
			})
		}
		for _, name := range command.Remove {
			changes = append(changes, kafka.IncrementalAlterConfigsRequestConfig{
				Name: name, ConfigOperation: kafka.ConfigOperationDelete,
			})
		}
		answer, err := client.IncrementalAlterConfigs(ctx, &kafka.IncrementalAlterConfigsRequest{
			Resources: []kafka.IncrementalAlterConfigsRequestResource{
				{ResourceType: kindOf(command.Resource), ResourceName: command.Name, Configs: changes},
			},
		})
		if err != nil {
			return nil, err
		}
		return Nothing{}, answer.Resources[0].Error
	})
}
