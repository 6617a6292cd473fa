package main

import (
	"github.com/segmentio/kafka-go"

	. "millrace.test/compat/adapter"
)

func groupHandlers(handlers Handlers, bootstrap string) {
	ask(handlers, bootstrap, "listGroups", func(client *kafka.Client, _ Nothing) (any, error) {
		answer, err := client.ListGroups(ctx, &kafka.ListGroupsRequest{})
		if err != nil {
			return nil, err
		}
		groups := []Group{}
		for _, each := range answer.Groups {
			groups = append(groups, Group{Group: each.GroupID, ProtocolType: each.ProtocolType})
		}
		return map[string]any{"groups": groups}, answer.Error
	})
	ask(handlers, bootstrap, "describeGroup", func(client *kafka.Client, command GroupID) (any, error) {
		answer, err := client.DescribeGroups(ctx, &kafka.DescribeGroupsRequest{GroupIDs: []string{command.Group}})
		if err != nil {
			return nil, err
		}
		group := answer.Groups[0]
		members := []Member{}
		for _, each := range group.Members {
			members = append(members, Member{ClientID: each.ClientID, Partitions: partitionsOf(each.MemberAssignments)})
		}
		return GroupDescription{State: group.GroupState, Members: members}, group.Error
	})
	ask(handlers, bootstrap, "deleteGroups", func(client *kafka.Client, command Groups) (any, error) {
		answer, err := client.DeleteGroups(ctx, &kafka.DeleteGroupsRequest{GroupIDs: command.Groups})
		if err != nil {
			return nil, err
		}
		results := []NamedResult{}
		for _, group := range command.Groups {
			results = append(results, NamedResult{Group: group, Error: failureOf(answer.Errors[group])})
		}
		return map[string]any{"groups": results}, nil
	})
	committedHandlers(handlers, bootstrap)
}

func committedHandlers(handlers Handlers, bootstrap string) {
	ask(handlers, bootstrap, "committed", func(client *kafka.Client, command GroupPartitions) (any, error) {
		answer, err := client.OffsetFetch(ctx, &kafka.OffsetFetchRequest{
			GroupID: command.Group, Topics: map[string][]int{command.Topic: ints(command.Partitions)},
		})
		if err != nil {
			return nil, err
		}
		offsets := []Committed{}
		for _, each := range answer.Topics[command.Topic] {
			if each.Error != nil {
				return nil, each.Error
			}
			offsets = append(offsets, Committed{PartitionOffset{int32(each.Partition), each.CommittedOffset}, &each.Metadata})
		}
		return map[string]any{"offsets": offsets}, answer.Error
	})
	ask(handlers, bootstrap, "alterOffsets", func(client *kafka.Client, command AlterOffsets) (any, error) {
		wanted := []kafka.OffsetCommit{}
		for _, each := range command.Offsets {
			wanted = append(wanted, kafka.OffsetCommit{Partition: int(each.Partition), Offset: each.Offset})
		}
		answer, err := client.OffsetCommit(ctx, &kafka.OffsetCommitRequest{
			GroupID: command.Group, GenerationID: -1, Topics: map[string][]kafka.OffsetCommit{command.Topic: wanted},
		})
		if err != nil {
			return nil, err
		}
		for _, each := range answer.Topics[command.Topic] {
			if each.Error != nil {
				return nil, each.Error
			}
		}
		return Nothing{}, nil
	})
	ask(handlers, bootstrap, "deleteOffsets", func(client *kafka.Client, command GroupPartitions) (any, error) {
		answer, err := client.OffsetDelete(ctx, &kafka.OffsetDeleteRequest{
			GroupID: command.Group, Topics: map[string][]int{command.Topic: ints(command.Partitions)},
		})
		if err != nil {
			return nil, err
		}
		for _, each := range answer.Topics[command.Topic] {
			if each.Error != nil {
				return nil, each.Error
			}
		}
		return Nothing{}, answer.Error
	})
}

func ints(partitions []int32) []int {
	numbers := []int{}
	for _, partition := range partitions {
		numbers = append(numbers, int(partition))
	}
	return numbers
}

func partitionsOf(assigned kafka.DescribeGroupsResponseAssignments) []TopicPartition {
	partitions := []TopicPartition{}
	for _, topic := range assigned.Topics {
		for _, partition := range topic.Partitions {
			partitions = append(partitions, TopicPartition{Topic: topic.Topic, Partition: int32(partition)})
		}
	}
	return partitions
}
