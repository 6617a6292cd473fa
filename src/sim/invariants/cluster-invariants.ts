import type { Actor } from '../core/actor.ts'
import type { SimCluster } from '../cluster/sim-cluster.ts'
import type { Sim } from '../sim.ts'
import { ResourceType } from '../../metadata/records.ts'
import { ComebackInvariants } from './comeback-invariants.ts'
import { ImageInvariants } from './image-invariants.ts'
import { ReplicaInvariants } from './replica-invariants.ts'

/** After every event of a node, what must hold of the cluster is checked, as far as that node can have broken it. */
export function watchInvariants(sim: Sim, cluster: SimCluster): void {
  const replicas = new ReplicaInvariants()
  const nodeOf = (nodeId: number) => cluster.nodes[nodeId - 1]
  const images = new ImageInvariants((image) => {
    replicas.placed(image)
    replicas.checkMembers(image, nodeOf)
  })
  const comebacks = new ComebackInvariants({
    comebackOf: ({ brokerId, incarnationId }) => {
      const node = nodeOf(brokerId)?.node
      // The process that registered may be gone by now, and the one after it has another story.
      const isPresent = node?.incarnationId === incarnationId && node.logs !== undefined
      return isPresent ? { wasClean: node.logs.previousBrokerEpoch !== null } : null
    },
    isRelaxed: (image, name) => {
      return image.configOf({ type: ResourceType.topic, name }).get('durability.mode') === 'relaxed'
    },
  })
  sim.scheduler.addInvariant((actor: Actor) => {
    for (const node of cluster.nodes) {
      if (node.process?.actor !== actor) continue
      images.check(node)
      if (node.node?.replicas !== undefined) comebacks.check(node.node.replicas.hosted.image)
      replicas.check(node)
    }
  })
}
