import type { DeleteGroups } from '../protocol/apis/delete-groups.ts'
import type { DescribeGroups } from '../protocol/apis/describe-groups.ts'
import type { Heartbeat } from '../protocol/apis/heartbeat.ts'
import type { JoinGroup } from '../protocol/apis/join-group.ts'
import type { LeaveGroup } from '../protocol/apis/leave-group.ts'
import type { ListGroups } from '../protocol/apis/list-groups.ts'
import type { OffsetCommit } from '../protocol/apis/offset-commit.ts'
import type { OffsetDelete } from '../protocol/apis/offset-delete.ts'
import type { OffsetFetch } from '../protocol/apis/offset-fetch.ts'
import type { SyncGroup } from '../protocol/apis/sync-group.ts'
import type { RequestOf, ResponseInput, ResponseOf } from '../protocol/schema.ts'
import type { OutlookChange } from './outlook-book.ts'
import type { GroupStanding } from './standing.ts'

/** Who asks, as far as it matters to a group. */
export interface Caller {
  /** Of the request: some answers differ by version. */
  readonly apiVersion: number
  readonly clientId: string
  /** As Kafka prints it: `/10.0.0.1`. */
  readonly clientHost: string
}

/**
 * The calls of the group APIs in the form of their newest version: `call` in, `answer` out. What older versions say
 * differently, the coordinator's service translates.
 */
export interface GroupCalls {
  join: { call: RequestOf<typeof JoinGroup>; answer: ResponseOf<typeof JoinGroup> }
  sync: { call: RequestOf<typeof SyncGroup>; answer: ResponseOf<typeof SyncGroup> }
  heartbeat: { call: RequestOf<typeof Heartbeat>; answer: ResponseOf<typeof Heartbeat> }
  /** With `members`, also from the versions that name one member only. */
  leave: { call: RequestOf<typeof LeaveGroup>; answer: ResponseOf<typeof LeaveGroup> }
  /** Topics carry name and id both. */
  'commit-offsets': { call: RequestOf<typeof OffsetCommit>; answer: ResponseOf<typeof OffsetCommit> }
  /** One group of the request. */
  'fetch-offsets': {
    call: RequestOf<typeof OffsetFetch>['groups'][number] & { readonly requireStable: boolean }
    answer: ResponseOf<typeof OffsetFetch>['groups'][number]
  }
  'delete-offsets': { call: RequestOf<typeof OffsetDelete>; answer: ResponseOf<typeof OffsetDelete> }
  list: { call: RequestOf<typeof ListGroups>; answer: ResponseInput<typeof ListGroups>['groups'] }
  describe: { call: readonly string[]; answer: ResponseInput<typeof DescribeGroups>['groups'] }
  /** Topics that were deleted, by name, with their ids. */
  'forget-topics': { call: ReadonlyMap<string, string>; answer: null }
  /** What leaders have told of what retention does. */
  outlooks: { call: readonly OutlookChange[]; answer: null }
  /** Where groups stand; null: all of them. */
  standings: {
    call: { readonly groupIds: readonly string[] | null; readonly onlyAtRisk: boolean }
    answer: { readonly standings: readonly GroupStanding[] }
  }
  'delete-groups': { call: readonly string[]; answer: ResponseOf<typeof DeleteGroups>['results'] }
}

export type GroupCall = keyof GroupCalls
export type GroupRequest = {
  [K in GroupCall]: { readonly type: K; readonly caller: Caller; readonly body: GroupCalls[K]['call'] }
}[GroupCall]
export type GroupResponse = GroupCalls[GroupCall]['answer']
