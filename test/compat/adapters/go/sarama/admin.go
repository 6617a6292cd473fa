package main

import (
	"fmt"
	"os"

	"github.com/IBM/sarama"

	. "millrace.test/compat/adapter"
)

func adminHandlers(handlers Handlers, client sarama.Client) {
	admin, err := sarama.NewClusterAdminFromClient(client)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	topicHandlers(handlers, admin)
	offsetHandlers(handlers, client)
	configHandlers(handlers, admin)
	groupHandlers(handlers, admin)
}

func topicHandlers(handlers Handlers, admin sarama.ClusterAdmin) {
	On(handlers, "createTopics", func(command CreateTopics) (any, error) {
		results := []NamedResult{}
		for _, topic := range command.Topics {
			configs := map[string]*string{}
			for name, value := range topic.Configs {
				configs[name] = &value
			}
			detail := &sarama.TopicDetail{
				NumPartitions: topic.Partitions, ReplicationFactor: topic.ReplicationFactor, ConfigEntries: configs,
			}
			err := admin.CreateTopic(topic.Name, detail, command.ValidateOnly)
			results = append(results, NamedResult{Name: topic.Name, Error: failureOf(err)})
		}
		return map[string]any{"topics": results}, nil
	})
	On(handlers, "deleteTopics", func(command Topics) (any, error) {
		results := []NamedResult{}
		for _, topic := range command.Topics {
			results = append(results, NamedResult{Name: topic, Error: failureOf(admin.DeleteTopic(topic))})
		}
		return map[string]any{"topics": results}, nil
	})
	On(handlers, "createPartitions", func(command CreatePartitions) (any, error) {
		return Nothing{}, admin.CreatePartitions(command.Topic, command.Total, nil, false)
	})
	On(handlers, "describeTopic", func(command Topic) (any, error) {
		topics, err := admin.DescribeTopics([]string{command.Topic})
		if err != nil {
			return nil, err
		}
		partitions := []PartitionInfo{}
		for _, each := range topics[0].Partitions {
			partitions = append(partitions, PartitionInfo{each.ID, each.Leader, each.Replicas, each.Isr})
		}
		if topics[0].Err != sarama.ErrNoError {
			return nil, topics[0].Err
		}
		return map[string]any{"partitions": partitions}, nil
	})
	On(handlers, "deleteRecords", func(command DeleteRecords) (any, error) {
		// It does not tell where the log begins now.
		return Nothing{}, admin.DeleteRecords(command.Topic, map[int32]int64{command.Partition: command.Before})
	})
}

func offsetHandlers(handlers Handlers, client sarama.Client) {
	On(handlers, "listOffsets", func(command ListOffsets) (any, error) {
		at := sarama.OffsetOldest
		if command.At == "latest" {
			at = sarama.OffsetNewest
		}
		offsets := []PartitionOffset{}
		for _, partition := range command.Partitions {
			offset, err := client.GetOffset(command.Topic, partition, at)
			if err != nil {
				return nil, err
			}
			offsets = append(offsets, PartitionOffset{partition, offset})
		}
		return map[string]any{"offsets": offsets}, nil
	})
	On(handlers, "offsetsForTimes", func(command OffsetsForTimes) (any, error) {
		offsets := []TimedOffset{}
		for _, timestamp := range command.Timestamps {
			offset, err := client.GetOffset(command.Topic, command.Partition, timestamp)
			if err != nil {
				return nil, err
			}
			found := TimedOffset{timestamp, offset}
			if offset == -1 {
				found.Offset = nil
			}
			offsets = append(offsets, found)
		}
		return map[string]any{"offsets": offsets}, nil
	})
}

func kindOf(resource Resource) sarama.ConfigResourceType {
	if resource.Kind == "topic" {
		return sarama.TopicResource
	}
	return sarama.BrokerResource
}

func configHandlers(handlers Handlers, admin sarama.ClusterAdmin) {
	On(handlers, "describeConfigs", func(command Resource) (any, error) {
		entries, err := admin.DescribeConfig(sarama.ConfigResource{Type: kindOf(command), Name: command.Name})
		configs := []Config{}
		for _, entry := range entries {
			source := int(entry.Source)
			configs = append(configs, Config{entry.Name, &entry.Value, &entry.ReadOnly, &entry.Sensitive, &source})
		}
		return map[string]any{"configs": configs}, err
	})
	On(handlers, "alterConfigs", func(command AlterConfigs) (any, error) {
		changes := map[string]sarama.IncrementalAlterConfigsEntry{}
		for name, value := range command.Set {
			changes[name] = sarama.IncrementalAlterConfigsEntry{
				Operation: sarama.IncrementalAlterConfigsOperationSet, Value: &value,
			}
		}
		for _, name := range command.Remove {
			changes[name] = sarama.IncrementalAlterConfigsEntry{Operation: sarama.IncrementalAlterConfigsOperationDelete}
		}
		return Nothing{}, admin.IncrementalAlterConfig(kindOf(command.Resource), command.Name, changes, false)
	})
}
