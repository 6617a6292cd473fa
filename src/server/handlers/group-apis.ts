import type { GroupCoordinator } from '../../coordinator/group-coordinator.ts'
import type { Caller } from '../../group/requests.ts'
import { DeleteGroups } from '../../protocol/apis/delete-groups.ts'
import { DescribeGroups } from '../../protocol/apis/describe-groups.ts'
import { Heartbeat } from '../../protocol/apis/heartbeat.ts'
import { JoinGroup } from '../../protocol/apis/join-group.ts'
import { LeaveGroup } from '../../protocol/apis/leave-group.ts'
import { ListGroups } from '../../protocol/apis/list-groups.ts'
import { OffsetCommit } from '../../protocol/apis/offset-commit.ts'
import { OffsetDelete } from '../../protocol/apis/offset-delete.ts'
import { OffsetFetch } from '../../protocol/apis/offset-fetch.ts'
import { SyncGroup } from '../../protocol/apis/sync-group.ts'
import { onlyAtRisk, withLag } from '../lag/group-answers.ts'
import type { GroupLags } from '../lag/group-lags.ts'
import { fromWire } from '../lag/outlook-sender.ts'
import type { RequestContext } from '../../replica/types.ts'
import type { Call } from '../connections/call.ts'
import { type ServedApi, serve } from '../dispatch/served-api.ts'

/** The group APIs, all versions: what differs between them the coordinator knows. */
export function groupApis(groups: GroupCoordinator, lags: GroupLags, nowMs: () => number): ServedApi[] {
  return [
    serve(JoinGroup, (request, call) => groups.joinGroup(request, callerOf(call))),
    serve(SyncGroup, (request, call) => groups.syncGroup(request, callerOf(call))),
    serve(Heartbeat, (request, call) => groups.heartbeat(request, callerOf(call))),
    serve(LeaveGroup, (request, call) => groups.leaveGroup(request, callerOf(call))),
    serve(OffsetCommit, (request, call) => groups.commitOffsets(request, callerOf(call))),
    serve(OffsetFetch, async (request, call) => {
      if (request.outlooks.length > 0 && (call as RequestContext).mayReplicate !== false)
        await groups.takeOutlooks(request.outlooks.map((one) => fromWire(one, nowMs())))
      return groups.fetchOffsets(request, callerOf(call))
    }),
    serve(OffsetDelete, (request, call) => groups.deleteOffsets(request, callerOf(call))),
    serve(ListGroups, async (request, call) => {
      const listed = await groups.listGroups(request, callerOf(call))
      return request.onlyAtRisk ? onlyAtRisk(listed, groups, lags) : listed
    }),
    serve(DescribeGroups, async (request, call) => {
      const described = await groups.describeGroups(request, callerOf(call))
      return request.includeLag ? withLag(described, groups, lags) : described
    }),
    serve(DeleteGroups, (request, call) => groups.deleteGroups(request, callerOf(call))),
  ]
}

/** Kafka shows a member's host as Java prints an address: with a slash in front. */
function callerOf(call: Call): Caller {
  return {
    apiVersion: call.version,
    clientId: call.clientId ?? '',
    clientHost: `/${call.connection.remote.host}`,
  }
}
