import { connect, type Socket } from 'node:net'
import type { Random } from '../../src/base/random.ts'
import { hostileInput, type Menu, wellFormed } from './inputs.ts'

export interface Tally {
  inputs: number
  answers: number
  /** Connections that the server closed, as it should after bytes it cannot read. */
  closedByServer: number
  connections: number
  /** That are not closed yet. */
  readonly open: Set<Socket>
}

/** Inputs that were sent last, newest at the end: what to look at when the server dies. */
export class Recent {
  readonly inputs: Buffer[] = []

  push(input: Buffer): void {
    this.inputs.push(input)
    if (this.inputs.length > 400) this.inputs.splice(0, 200)
  }
}

/**
 * A few requests that keep to the format, then one that does not: behind it nothing would be read any more. Ends when
 * the server closes or has nothing to say.
 */
export function attackOnce(
  port: number,
  random: Random,
  tally: Tally,
  options: { quietMs: number; recent: Recent; menu: Menu },
): Promise<void> {
  tally.connections++
  return new Promise((resolve) => {
    // Many source addresses, so that ports in TIME_WAIT do not run out.
    const socket = connect({ host: '127.0.0.1', port, localAddress: `127.0.0.${2 + random.below(250)}` })
    tally.open.add(socket)
    let received = 0
    let ours = false
    let hasEnded = false
    const quit = () => {
      ours = true
      // While an end is on its way a reset is refused, and the socket would stay open for ever.
      if (hasEnded) socket.destroy()
      else socket.resetAndDestroy()
    }
    socket.setTimeout(options.quietMs, quit)
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
    })
    const done = () => {
      if (!tally.open.delete(socket)) return
      if (received > 0) tally.answers++
      if (!ours) tally.closedByServer++
      resolve()
    }
    socket.on('close', done)
    // A reset that the system refuses is told as an error, and nothing is told after it.
    socket.on('error', () => {
      if (socket.destroyed) done()
    })
    socket.on('connect', () => {
      const inputs = Array.from({ length: random.below(4) }, () => wellFormed(random, options.menu))
      inputs.push(hostileInput(random, options.menu))
      for (const input of inputs) options.recent.push(input)
      tally.inputs += inputs.length
      // In two pieces that do not end where frames end.
      const all = Buffer.concat(inputs)
      const cut = random.below(all.length)
      socket.write(all.subarray(0, cut))
      socket.write(all.subarray(cut))
      if (random.chance(0.02)) quit()
      else if (random.chance(0.3)) {
        hasEnded = true
        socket.end()
      }
    })
  })
}
