import { DeleteGroups } from '../../src/protocol/apis/delete-groups.ts'
import { DeleteTopics } from '../../src/protocol/apis/delete-topics.ts'
import { DescribeGroups } from '../../src/protocol/apis/describe-groups.ts'
import { LeaveGroup } from '../../src/protocol/apis/leave-group.ts'
import { IncrementalAlterConfigs } from '../../src/protocol/apis/incremental-alter-configs.ts'
import { ListConfigResources } from '../../src/protocol/apis/list-config-resources.ts'
import { ListGroups } from '../../src/protocol/apis/list-groups.ts'
import { DescribeConfigs } from '../../src/protocol/apis/describe-configs.ts'
import { Metadata } from '../../src/protocol/apis/metadata.ts'
import { FENCE_TOPIC, type Side } from './side.ts'

const GROUP = 32

/** Takes away what a sequence made, so that the next one finds the server as the first did. */
export async function cleanUp(side: Side): Promise<void> {
  await side.endSequence()
  await Promise.all([deleteGroups(side), deleteTopics(side), deleteGroupConfigs(side)])
}

async function deleteGroups(side: Side): Promise<void> {
  const { groups } = await side.call(ListGroups, 5, { statesFilter: [], typesFilter: [] })
  const names = groups.map(({ groupId }) => groupId).filter((groupId) => !groupId.startsWith(FENCE_TOPIC))
  if (names.length === 0) return
  const described = await side.call(DescribeGroups, 5, { groups: names, includeAuthorizedOperations: false })
  for (const { groupId, members } of described.groups) {
    if (members.length > 0)
      await side.call(LeaveGroup, 5, { groupId, members: members.map(({ memberId }) => ({ memberId })) })
  }
  await side.call(DeleteGroups, 2, { groupsNames: names })
}

async function deleteTopics(side: Side): Promise<void> {
  const { topics } = await side.call(Metadata, 9, { topics: null })
  const names = topics
    .filter(({ name, isInternal }) => name !== FENCE_TOPIC && !isInternal)
    .map(({ name }) => name as string)
  if (names.length > 0) await side.call(DeleteTopics, 5, { topicNames: names, timeoutMs: 30_000 })
}

async function deleteGroupConfigs(side: Side): Promise<void> {
  const { configResources } = await side.call(ListConfigResources, 1, { resourceTypes: [GROUP] })
  const named = configResources.map(({ resourceName }) => ({
    resourceType: GROUP,
    resourceName,
    configurationKeys: null,
  }))
  if (named.length === 0) return
  const { results } = await side.call(DescribeConfigs, 4, { resources: named })
  const resources = results.map(({ resourceType, resourceName, configs }) => ({
    resourceType,
    resourceName,
    configs: configs
      .filter(({ configSource }) => configSource === GROUP_SOURCE)
      .map(({ name }) => ({ name, configOperation: 1, value: null })),
  }))
  await side.call(IncrementalAlterConfigs, 1, { resources, validateOnly: false })
}

/** A config's value that was set on the group itself. */
const GROUP_SOURCE = 8
