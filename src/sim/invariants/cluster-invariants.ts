import type { Actor } from '../core/actor.ts'
import type { SimCluster } from '../cluster/sim-cluster.ts'
import type { Sim } from '../sim.ts'
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
  sim.scheduler.addInvariant((actor: Actor) => {
    for (const node of cluster.nodes) {
      if (node.process?.actor !== actor) continue
      images.check(node)
      replicas.check(node)
    }
  })
}
