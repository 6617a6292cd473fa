import { Random } from '../../src/base/random.ts'
import { Model } from './model.ts'
import { oddly } from './odd.ts'
import type { Step } from './step.ts'
import * as cluster from './steps/cluster.ts'
import * as configs from './steps/configs.ts'
import { fetch, fetchInSession } from './steps/fetch.ts'
import * as frames from './steps/frames.ts'
import * as groupOffsets from './steps/group-offsets.ts'
import * as groups from './steps/groups.ts'
import * as offsets from './steps/offsets.ts'
import { initProducerId, produce } from './steps/produce.ts'
import * as topics from './steps/topics.ts'

type Maker = (model: Model) => Step[]
/** How often each is drawn, beside the others. */
type Menu = readonly (readonly [Maker, number])[]

const topicMenu: Menu = [
  [topics.createTopics, 5],
  [topics.deleteTopics, 2],
  [topics.createPartitions, 3],
  [topics.metadata, 4],
  [topics.describeTopicPartitions, 3],
  [cluster.electLeaders, 1],
  [cluster.alterPartitionReassignments, 2],
  [cluster.listPartitionReassignments, 1],
]
const logMenu: Menu = [
  [produce, 8],
  [fetch, 5],
  [offsets.listOffsets, 4],
  [offsets.deleteRecords, 2],
  [offsets.offsetForLeaderEpoch, 2],
  [offsets.describeProducers, 2],
  [initProducerId, 2],
  [cluster.describeLogDirs, 1],
]
const fetchMenu: Menu = [
  [fetchInSession, 8],
  [produce, 3],
  [fetch, 2],
  [offsets.deleteRecords, 1],
  [topics.deleteTopics, 0.4],
  [topics.createTopics, 0.4],
]
const groupMenu: Menu = [
  [groups.joinGroup, 6],
  [groups.gather, 3],
  [groups.syncGroup, 4],
  [groups.heartbeat, 3],
  [groups.leaveGroup, 2],
  [groupOffsets.offsetCommit, 3],
  [groupOffsets.offsetFetch, 3],
  [groupOffsets.offsetDelete, 1],
  [groupOffsets.describeGroups, 3],
  [groupOffsets.listGroups, 1],
  [groupOffsets.deleteGroups, 0.7],
  [topics.deleteTopics, 0.2],
]
const configMenu: Menu = [
  [configs.incrementalAlterConfigs, 5],
  [configs.alterConfigs, 2],
  [configs.describeConfigs, 5],
  [configs.listConfigResources, 1],
  [topics.createTopics, 1],
  [topics.deleteTopics, 0.3],
  [produce, 1],
]
const clusterMenu: Menu = [
  [cluster.describeCluster, 2],
  [cluster.describeQuorum, 2],
  [cluster.findCoordinator, 2],
  [cluster.apiVersions, 2],
  [cluster.updateFeatures, 2],
  [cluster.changeNodes, 1],
  [cluster.describeLogDirs, 1],
  [cluster.electLeaders, 1],
]
const everything: Menu = [...topicMenu, ...logMenu, ...fetchMenu, ...groupMenu, ...configMenu, ...clusterMenu]
const menus: readonly Menu[] = [
  topicMenu,
  logMenu,
  logMenu,
  fetchMenu,
  groupMenu,
  groupMenu,
  configMenu,
  clusterMenu,
  everything,
]

export interface SequenceName {
  readonly seed: number
  readonly number: number
}

/** The requests of one sequence: always the same for a name, but for the prefix of what they create. */
export function makeSequence({ seed, number }: SequenceName, prefix: string, nowMs: number): Step[] {
  const random = new Random(seed * 1_000_003 + number)
  const model = new Model(random, prefix, nowMs)
  const menu = random.pick(menus)
  const steps = topics.setUpTopics(model, random.between(1, 3))
  const length = random.between(8, 24)
  while (steps.length < length) {
    for (const step of drawn(menu, random)(model)) steps.push(varied(step, model))
  }
  return steps
}

function drawn(menu: Menu, random: Random): Maker {
  let left = random.float() * menu.reduce((sum, [, weight]) => sum + weight, 0)
  for (const [maker, weight] of menu) {
    left -= weight
    if (left < 0) return maker
  }
  return (menu[0] as Menu[number])[0]
}

/** Now and then not what a client would send. */
function varied(step: Step, model: Model): Step {
  const { random } = model
  const kind = random.below(1000)
  if (step.silent === true || kind < 800) return step
  if (kind < 930) return oddly(step, model)
  if (kind < 970) return frames.withUnknownTag(step, model)
  if (kind < 980) return frames.withMoreBytes(step)
  if (kind < 990) return frames.cutShort(step, model)
  return kind < 996 ? frames.inUnknownVersion(step, model) : frames.ofUnknownApi(step, model)
}
