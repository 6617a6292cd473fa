package main

import (
	"sort"

	"github.com/IBM/sarama"

	. "millrace.test/compat/adapter"
)

func groupHandlers(handlers Handlers, admin sarama.ClusterAdmin) {
	On(handlers, "listGroups", func(Nothing) (any, error) {
		listed, err := admin.ListConsumerGroups()
		groups := []Group{}
		for group, protocolType := range listed {
			groups = append(groups, Group{Group: group, ProtocolType: protocolType})
		}
		sort.Slice(groups, func(i, j int) bool { return groups[i].Group < groups[j].Group })
		return map[string]any{"groups": groups}, err
	})
	On(handlers, "describeGroup", func(command GroupID) (any, error) { return describeGroup(admin, command.Group) })
	On(handlers, "deleteGroups", func(command Groups) (any, error) {
		results := []NamedResult{}
		for _, group := range command.Groups {
			results = append(results, NamedResult{Group: group, Error: failureOf(admin.DeleteConsumerGroup(group))})
		}
		return map[string]any{"groups": results}, nil
	})
	On(handlers, "committed", func(command GroupPartitions) (any, error) {
		wanted := map[string][]int32{command.Topic: command.Partitions}
		fetched, err := admin.ListConsumerGroupOffsets(command.Group, wanted)
		if err != nil {
			return nil, err
		}
		offsets := []Committed{}
		for _, partition := range command.Partitions {
			found := fetched.GetBlock(command.Topic, partition)
			offsets = append(offsets, Committed{PartitionOffset{partition, found.Offset}, &found.Metadata})
		}
		return map[string]any{"offsets": offsets}, nil
	})
	On(handlers, "alterOffsets", func(command AlterOffsets) (any, error) { return alterOffsets(admin, command) })
	On(handlers, "deleteOffsets", func(command GroupPartitions) (any, error) {
		for _, partition := range command.Partitions {
			if err := admin.DeleteConsumerGroupOffset(command.Group, command.Topic, partition); err != nil {
				return nil, err
			}
		}
		return Nothing{}, nil
	})
}

func describeGroup(admin sarama.ClusterAdmin, name string) (any, error) {
	groups, err := admin.DescribeConsumerGroups([]string{name})
	if err != nil {
		return nil, err
	}
	group := groups[0]
	if group.Err != sarama.ErrNoError {
		return nil, group.Err
	}
	members := []Member{}
	for _, each := range group.Members {
		partitions := []TopicPartition{}
		assigned, err := each.GetMemberAssignment()
		if err != nil {
			return nil, err
		}
		if assigned != nil {
			for topic, numbers := range assigned.Topics {
				for _, partition := range numbers {
					partitions = append(partitions, TopicPartition{Topic: topic, Partition: partition})
				}
			}
		}
		members = append(members, Member{each.ClientId, each.GroupInstanceId, partitions})
	}
	return GroupDescription{group.State, group.ProtocolType, group.Protocol, members}, nil
}

func alterOffsets(admin sarama.ClusterAdmin, command AlterOffsets) (any, error) {
	offsets := map[int32]sarama.OffsetAndMetadata{}
	for _, each := range command.Offsets {
		offsets[each.Partition] = sarama.OffsetAndMetadata{Offset: each.Offset, LeaderEpoch: -1}
	}
	answer, err := admin.AlterConsumerGroupOffsets(command.Group, map[string]map[int32]sarama.OffsetAndMetadata{command.Topic: offsets}, nil)
	if err != nil {
		return nil, err
	}
	for _, partitions := range answer.Errors {
		for _, code := range partitions {
			if code != sarama.ErrNoError {
				return nil, code
			}
		}
	}
	return Nothing{}, nil
}
