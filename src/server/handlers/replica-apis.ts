import { DeleteRecords } from '../../protocol/apis/delete-records.ts'
import { DescribeLogDirs } from '../../protocol/apis/describe-log-dirs.ts'
import { DescribeProducers } from '../../protocol/apis/describe-producers.ts'
import { Fetch } from '../../protocol/apis/fetch.ts'
import { ListOffsets } from '../../protocol/apis/list-offsets.ts'
import { OffsetForLeaderEpoch } from '../../protocol/apis/offset-for-leader-epoch.ts'
import type { ReplicaManager } from '../../replica/replica-manager.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'
import { produce } from './produce.ts'

/** What the partitions of this node answer themselves. */
export function replicaApis(replicas: ReplicaManager): ServedApi[] {
  return [
    produce(replicas),
    serve(Fetch, (request, call) => replicas.fetch(request, call)),
    serve(ListOffsets, (request, call) => replicas.listOffsets(request, call)),
    serve(OffsetForLeaderEpoch, (request, call) => replicas.offsetForLeaderEpoch(request, call)),
    serve(DeleteRecords, (request, call) => replicas.deleteRecords(request, call)),
    serve(DescribeProducers, (request, call) => replicas.describeProducers(request, call)),
    serve(DescribeLogDirs, (request) => replicas.describeLogDirs(request)),
  ]
}
