package main

import (
	"context"
	"strconv"

	"github.com/twmb/franz-go/pkg/kadm"

	. "millrace.test/compat/adapter"
)

var ctx = context.Background()

func adminHandlers(handlers Handlers, admin *kadm.Client) {
	topicHandlers(handlers, admin)
	offsetHandlers(handlers, admin)
	configHandlers(handlers, admin)
	groupHandlers(handlers, admin)
}

func topicHandlers(handlers Handlers, admin *kadm.Client) {
	On(handlers, "createTopics", func(command CreateTopics) (any, error) {
		results := []NamedResult{}
		create := admin.CreateTopics
		if command.ValidateOnly {
			create = admin.ValidateCreateTopics
		}
		for _, topic := range command.Topics {
			configs := map[string]*string{}
			for name, value := range topic.Configs {
				configs[name] = kadm.StringPtr(value)
			}
			created, err := create(ctx, topic.Partitions, topic.ReplicationFactor, configs, topic.Name)
			if err != nil {
				return nil, err
			}
			results = append(results, NamedResult{Name: topic.Name, Error: failureOf(created[topic.Name].Err)})
		}
		return map[string]any{"topics": results}, nil
	})
	On(handlers, "deleteTopics", func(command Topics) (any, error) {
		deleted, err := admin.DeleteTopics(ctx, command.Topics...)
		results := []NamedResult{}
		for _, topic := range command.Topics {
			results = append(results, NamedResult{Name: topic, Error: failureOf(deleted[topic].Err)})
		}
		return map[string]any{"topics": results}, err
	})
	On(handlers, "createPartitions", func(command CreatePartitions) (any, error) {
		results, err := admin.UpdatePartitions(ctx, int(command.Total), command.Topic)
		if err != nil {
			return nil, err
		}
		return Nothing{}, results[command.Topic].Err
	})
	On(handlers, "describeTopic", func(command Topic) (any, error) {
		topics, err := admin.ListTopics(ctx, command.Topic)
		if err != nil {
			return nil, err
		}
		topic := topics[command.Topic]
		partitions := []PartitionInfo{}
		for _, each := range topic.Partitions.Sorted() {
			partitions = append(partitions, PartitionInfo{each.Partition, each.Leader, each.Replicas, each.ISR})
		}
		return map[string]any{"partitions": partitions}, topic.Err
	})
	On(handlers, "deleteRecords", func(command DeleteRecords) (any, error) {
		var offsets kadm.Offsets
		offsets.AddOffset(command.Topic, command.Partition, command.Before, -1)
		results, err := admin.DeleteRecords(ctx, offsets)
		if err != nil {
			return nil, err
		}
		result, _ := results.Lookup(command.Topic, command.Partition)
		return map[string]any{"lowWatermark": result.LowWatermark}, result.Err
	})
}

func offsetHandlers(handlers Handlers, admin *kadm.Client) {
	On(handlers, "listOffsets", func(command ListOffsets) (any, error) {
		list := admin.ListStartOffsets
		if command.At == "latest" {
			list = admin.ListEndOffsets
		}
		listed, err := list(ctx, command.Topic)
		if err != nil {
			return nil, err
		}
		offsets := []PartitionOffset{}
		for _, partition := range command.Partitions {
			found, ok := listed.Lookup(command.Topic, partition)
			if !ok || found.Err != nil {
				return nil, listed.Error()
			}
			offsets = append(offsets, PartitionOffset{partition, found.Offset})
		}
		return map[string]any{"offsets": offsets}, nil
	})
	On(handlers, "offsetsForTimes", func(command OffsetsForTimes) (any, error) {
		offsets := []TimedOffset{}
		for _, timestamp := range command.Timestamps {
			listed, err := admin.ListOffsetsAfterMilli(ctx, timestamp, command.Topic)
			if err != nil {
				return nil, err
			}
			found, _ := listed.Lookup(command.Topic, command.Partition)
			if found.Err != nil {
				return nil, found.Err
			}
			offset := TimedOffset{timestamp, found.Offset}
			// kadm asks for the end itself where no record is that late.
			if found.Timestamp == -1 {
				offset.Offset = "end"
			}
			offsets = append(offsets, offset)
		}
		return map[string]any{"offsets": offsets}, nil
	})
}

func configHandlers(handlers Handlers, admin *kadm.Client) {
	On(handlers, "describeConfigs", func(command Resource) (any, error) {
		described, err := describe(admin, command)
		if err != nil {
			return nil, err
		}
		configs := []Config{}
		for _, config := range described[0].Configs {
			source := int(config.Source)
			configs = append(configs, Config{Name: config.Key, Value: config.Value, IsSensitive: &config.Sensitive, Source: &source})
		}
		return map[string]any{"configs": configs}, described[0].Err
	})
	On(handlers, "alterConfigs", func(command AlterConfigs) (any, error) {
		changes := []kadm.AlterConfig{}
		for name, value := range command.Set {
			changes = append(changes, kadm.AlterConfig{Op: kadm.SetConfig, Name: name, Value: kadm.StringPtr(value)})
		}
		for _, name := range command.Remove {
			changes = append(changes, kadm.AlterConfig{Op: kadm.DeleteConfig, Name: name})
		}
		results, err := alter(admin, command.Resource, changes)
		if err != nil {
			return nil, err
		}
		return Nothing{}, results[0].Err
	})
}

func describe(admin *kadm.Client, resource Resource) (kadm.ResourceConfigs, error) {
	if resource.Kind == "topic" {
		return admin.DescribeTopicConfigs(ctx, resource.Name)
	}
	id, err := strconv.Atoi(resource.Name)
	if err != nil {
		return nil, err
	}
	return admin.DescribeBrokerConfigs(ctx, int32(id))
}

func alter(admin *kadm.Client, resource Resource, changes []kadm.AlterConfig) (kadm.AlterConfigsResponses, error) {
	if resource.Kind == "topic" {
		return admin.AlterTopicConfigs(ctx, changes, resource.Name)
	}
	id, err := strconv.Atoi(resource.Name)
	if err != nil {
		return nil, err
	}
	return admin.AlterBrokerConfigs(ctx, changes, int32(id))
}
