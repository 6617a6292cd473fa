import { METADATA_TOPIC } from '../../../src/model/ids.ts'
import { QuorumInvariants, type QuorumMember } from '../../../src/sim/invariants/quorum-invariants.ts'
import type { Sim } from '../../../src/sim/sim.ts'
import type { Controller, QuorumWorld } from '../../../src/testing/quorum-world.ts'

/** After every event of a controller, what must hold of the quorum is checked. */
export function watchQuorum(sim: Sim, world: QuorumWorld): void {
  const invariants = new QuorumInvariants()
  const members = new WeakMap<object, QuorumMember>()
  sim.scheduler.addInvariant((actor) => {
    for (const controller of world.controllers) {
      const { process, node } = controller
      if (process?.actor !== actor || node === null) continue
      let member = members.get(node)
      if (member === undefined) {
        member = memberOf(controller)
        members.set(node, member)
      }
      invariants.check(member)
    }
  })
}

function memberOf({ nodeId, node, quorum }: Controller): QuorumMember {
  const log = node?.logs.get({ topic: METADATA_TOPIC, partition: 0 }) ?? null
  if (node === null || log === null) throw new Error(`controller ${nodeId} has no metadata log`)
  return { nodeId, directoryId: node.logs.metaProperties.directoryId, log, facts: () => quorum.facts }
}
