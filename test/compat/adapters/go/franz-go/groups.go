package main

import (
	"github.com/twmb/franz-go/pkg/kadm"

	. "millrace.test/compat/adapter"
)

func groupHandlers(handlers Handlers, admin *kadm.Client) {
	On(handlers, "listGroups", func(Nothing) (any, error) {
		listed, err := admin.ListGroups(ctx)
		groups := []Group{}
		for _, each := range listed.Sorted() {
			groups = append(groups, Group{each.Group, each.State, each.ProtocolType, each.GroupType})
		}
		return map[string]any{"groups": groups}, err
	})
	On(handlers, "describeGroup", func(command GroupID) (any, error) {
		described, err := admin.DescribeGroups(ctx, command.Group)
		if err != nil {
			return nil, err
		}
		group := described[command.Group]
		members := []Member{}
		for _, each := range group.Members {
			members = append(members, Member{each.ClientID, each.InstanceID, partitionsOf(each)})
		}
		return GroupDescription{group.State, group.ProtocolType, group.Protocol, members}, group.Err
	})
	On(handlers, "deleteGroups", func(command Groups) (any, error) {
		deleted, err := admin.DeleteGroups(ctx, command.Groups...)
		results := []NamedResult{}
		for _, group := range command.Groups {
			results = append(results, NamedResult{Group: group, Error: failureOf(deleted[group].Err)})
		}
		return map[string]any{"groups": results}, err
	})
	On(handlers, "committed", func(command GroupPartitions) (any, error) {
		fetched, err := admin.FetchOffsets(ctx, command.Group)
		if err != nil {
			return nil, err
		}
		offsets := []Committed{}
		for _, partition := range command.Partitions {
			found, ok := fetched.Lookup(command.Topic, partition)
			if !ok {
				found.At = -1
			}
			offsets = append(offsets, Committed{PartitionOffset{partition, found.At}, &found.Metadata})
		}
		return map[string]any{"offsets": offsets}, nil
	})
	On(handlers, "alterOffsets", func(command AlterOffsets) (any, error) {
		var offsets kadm.Offsets
		for _, each := range command.Offsets {
			offsets.AddOffset(command.Topic, each.Partition, each.Offset, -1)
		}
		results, err := admin.CommitOffsets(ctx, command.Group, offsets)
		if err != nil {
			return nil, err
		}
		return Nothing{}, results.Error()
	})
	On(handlers, "deleteOffsets", func(command GroupPartitions) (any, error) {
		set := kadm.TopicsSet{}
		set.Add(command.Topic, command.Partitions...)
		results, err := admin.DeleteOffsets(ctx, command.Group, set)
		if err != nil {
			return nil, err
		}
		return Nothing{}, results.Error()
	})
}

func partitionsOf(member kadm.DescribedGroupMember) []TopicPartition {
	partitions := []TopicPartition{}
	assigned, ok := member.Assigned.AsConsumer()
	if !ok {
		return partitions
	}
	for _, topic := range assigned.Topics {
		for _, partition := range topic.Partitions {
			partitions = append(partitions, TopicPartition{Topic: topic.Topic, Partition: partition})
		}
	}
	return partitions
}
