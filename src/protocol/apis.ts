import { AddOffsetsToTxn } from './apis/add-offsets-to-txn.ts'
import { AddPartitionsToTxn } from './apis/add-partitions-to-txn.ts'
import { AddRaftVoter } from './apis/add-raft-voter.ts'
import { AllocateProducerIds } from './apis/allocate-producer-ids.ts'
import { AlterClientQuotas } from './apis/alter-client-quotas.ts'
import { AlterConfigs } from './apis/alter-configs.ts'
import { AlterPartition } from './apis/alter-partition.ts'
import { AlterPartitionReassignments } from './apis/alter-partition-reassignments.ts'
import { AlterReplicaLogDirs } from './apis/alter-replica-log-dirs.ts'
import { AlterShareGroupOffsets } from './apis/alter-share-group-offsets.ts'
import { AlterUserScramCredentials } from './apis/alter-user-scram-credentials.ts'
import { ApiVersions } from './apis/api-versions.ts'
import { AssignReplicasToDirs } from './apis/assign-replicas-to-dirs.ts'
import { BeginQuorumEpoch } from './apis/begin-quorum-epoch.ts'
import { BrokerHeartbeat } from './apis/broker-heartbeat.ts'
import { BrokerRegistration } from './apis/broker-registration.ts'
import { ConsumerGroupDescribe } from './apis/consumer-group-describe.ts'
import { ConsumerGroupHeartbeat } from './apis/consumer-group-heartbeat.ts'
import { ControllerRegistration } from './apis/controller-registration.ts'
import { CreateAcls } from './apis/create-acls.ts'
import { CreateDelegationToken } from './apis/create-delegation-token.ts'
import { CreatePartitions } from './apis/create-partitions.ts'
import { CreateTopics } from './apis/create-topics.ts'
import { DeleteAcls } from './apis/delete-acls.ts'
import { DeleteGroups } from './apis/delete-groups.ts'
import { DeleteRecords } from './apis/delete-records.ts'
import { DeleteShareGroupOffsets } from './apis/delete-share-group-offsets.ts'
import { DeleteShareGroupState } from './apis/delete-share-group-state.ts'
import { DeleteTopics } from './apis/delete-topics.ts'
import { DescribeAcls } from './apis/describe-acls.ts'
import { DescribeClientQuotas } from './apis/describe-client-quotas.ts'
import { DescribeCluster } from './apis/describe-cluster.ts'
import { DescribeConfigs } from './apis/describe-configs.ts'
import { DescribeDelegationToken } from './apis/describe-delegation-token.ts'
import { DescribeGroups } from './apis/describe-groups.ts'
import { DescribeLogDirs } from './apis/describe-log-dirs.ts'
import { DescribeProducers } from './apis/describe-producers.ts'
import { DescribeQuorum } from './apis/describe-quorum.ts'
import { DescribeShareGroupOffsets } from './apis/describe-share-group-offsets.ts'
import { DescribeTopicPartitions } from './apis/describe-topic-partitions.ts'
import { DescribeTransactions } from './apis/describe-transactions.ts'
import { DescribeUserScramCredentials } from './apis/describe-user-scram-credentials.ts'
import { ElectLeaders } from './apis/elect-leaders.ts'
import { EndQuorumEpoch } from './apis/end-quorum-epoch.ts'
import { EndTxn } from './apis/end-txn.ts'
import { Envelope } from './apis/envelope.ts'
import { ExpireDelegationToken } from './apis/expire-delegation-token.ts'
import { Fetch } from './apis/fetch.ts'
import { FetchSnapshot } from './apis/fetch-snapshot.ts'
import { FindCoordinator } from './apis/find-coordinator.ts'
import { GetTelemetrySubscriptions } from './apis/get-telemetry-subscriptions.ts'
import { Heartbeat } from './apis/heartbeat.ts'
import { IncrementalAlterConfigs } from './apis/incremental-alter-configs.ts'
import { InitProducerId } from './apis/init-producer-id.ts'
import { InitializeShareGroupState } from './apis/initialize-share-group-state.ts'
import { JoinGroup } from './apis/join-group.ts'
import { LeaveGroup } from './apis/leave-group.ts'
import { ListConfigResources } from './apis/list-config-resources.ts'
import { ListGroups } from './apis/list-groups.ts'
import { ListOffsets } from './apis/list-offsets.ts'
import { ListPartitionReassignments } from './apis/list-partition-reassignments.ts'
import { ListTransactions } from './apis/list-transactions.ts'
import { Metadata } from './apis/metadata.ts'
import { OffsetCommit } from './apis/offset-commit.ts'
import { OffsetDelete } from './apis/offset-delete.ts'
import { OffsetFetch } from './apis/offset-fetch.ts'
import { OffsetForLeaderEpoch } from './apis/offset-for-leader-epoch.ts'
import { Produce } from './apis/produce.ts'
import { PushTelemetry } from './apis/push-telemetry.ts'
import { ReadShareGroupState } from './apis/read-share-group-state.ts'
import { ReadShareGroupStateSummary } from './apis/read-share-group-state-summary.ts'
import { RemoveRaftVoter } from './apis/remove-raft-voter.ts'
import { RenewDelegationToken } from './apis/renew-delegation-token.ts'
import { SaslAuthenticate } from './apis/sasl-authenticate.ts'
import { SaslHandshake } from './apis/sasl-handshake.ts'
import { ShareAcknowledge } from './apis/share-acknowledge.ts'
import { ShareFetch } from './apis/share-fetch.ts'
import { ShareGroupDescribe } from './apis/share-group-describe.ts'
import { ShareGroupHeartbeat } from './apis/share-group-heartbeat.ts'
import { StreamsGroupDescribe } from './apis/streams-group-describe.ts'
import { StreamsGroupHeartbeat } from './apis/streams-group-heartbeat.ts'
import { StreamsGroupTopologyDescriptionUpdate } from './apis/streams-group-topology-description-update.ts'
import { SyncGroup } from './apis/sync-group.ts'
import { TxnOffsetCommit } from './apis/txn-offset-commit.ts'
import { UnregisterBroker } from './apis/unregister-broker.ts'
import { UnregisterController } from './apis/unregister-controller.ts'
import { UpdateFeatures } from './apis/update-features.ts'
import { UpdateRaftVoter } from './apis/update-raft-voter.ts'
import { Vote } from './apis/vote.ts'
import { WriteShareGroupState } from './apis/write-share-group-state.ts'
import { WriteTxnMarkers } from './apis/write-txn-markers.ts'
import type { AnyApi } from './schema.ts'

/**
 * Every API of Kafka 4.4.0 by its key: the wire's whole vocabulary, not what a node serves. Import the single definitions where
 * they are used; this table, which loads them all, is for code that must name any request (the server, dumps, tests).
 */
export const apis: ReadonlyMap<number, AnyApi> = new Map(
  [
    Produce,
    Fetch,
    ListOffsets,
    Metadata,
    OffsetCommit,
    OffsetFetch,
    FindCoordinator,
    JoinGroup,
    Heartbeat,
    LeaveGroup,
    SyncGroup,
    DescribeGroups,
    ListGroups,
    SaslHandshake,
    ApiVersions,
    CreateTopics,
    DeleteTopics,
    DeleteRecords,
    InitProducerId,
    OffsetForLeaderEpoch,
    AddPartitionsToTxn,
    AddOffsetsToTxn,
    EndTxn,
    WriteTxnMarkers,
    TxnOffsetCommit,
    DescribeAcls,
    CreateAcls,
    DeleteAcls,
    DescribeConfigs,
    AlterConfigs,
    AlterReplicaLogDirs,
    DescribeLogDirs,
    SaslAuthenticate,
    CreatePartitions,
    CreateDelegationToken,
    RenewDelegationToken,
    ExpireDelegationToken,
    DescribeDelegationToken,
    DeleteGroups,
    ElectLeaders,
    IncrementalAlterConfigs,
    AlterPartitionReassignments,
    ListPartitionReassignments,
    OffsetDelete,
    DescribeClientQuotas,
    AlterClientQuotas,
    DescribeUserScramCredentials,
    AlterUserScramCredentials,
    Vote,
    BeginQuorumEpoch,
    EndQuorumEpoch,
    DescribeQuorum,
    AlterPartition,
    UpdateFeatures,
    Envelope,
    FetchSnapshot,
    DescribeCluster,
    DescribeProducers,
    BrokerRegistration,
    BrokerHeartbeat,
    UnregisterBroker,
    DescribeTransactions,
    ListTransactions,
    AllocateProducerIds,
    ConsumerGroupHeartbeat,
    ConsumerGroupDescribe,
    ControllerRegistration,
    GetTelemetrySubscriptions,
    PushTelemetry,
    AssignReplicasToDirs,
    ListConfigResources,
    DescribeTopicPartitions,
    ShareGroupHeartbeat,
    ShareGroupDescribe,
    ShareFetch,
    ShareAcknowledge,
    AddRaftVoter,
    RemoveRaftVoter,
    UpdateRaftVoter,
    InitializeShareGroupState,
    ReadShareGroupState,
    WriteShareGroupState,
    DeleteShareGroupState,
    ReadShareGroupStateSummary,
    StreamsGroupHeartbeat,
    StreamsGroupDescribe,
    DescribeShareGroupOffsets,
    AlterShareGroupOffsets,
    DeleteShareGroupOffsets,
    StreamsGroupTopologyDescriptionUpdate,
    UnregisterController,
  ].map((api: AnyApi) => [api.key, api]),
)
