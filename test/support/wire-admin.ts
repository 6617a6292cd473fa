import { ByteWriter, type ByteReader } from '../../src/base/bytes.ts'
import { WireError } from './wire-calls.ts'
import { getArray, getString, putString, type Wire } from './wire.ts'

/** Calls about the cluster itself. Flexible requests begin with the empty tagged fields that end their header. */
function flexible(fill: (writer: ByteWriter) => void): ByteWriter {
  const writer = new ByteWriter()
  noTags(writer)
  fill(writer)
  return writer
}

function noTags(writer: ByteWriter): void {
  writer.int8(0)
}

function putCompactString(writer: ByteWriter, text: string): void {
  writer.uvarint(Buffer.byteLength(text) + 1)
  writer.utf8(text)
}

function skipTags(reader: ByteReader): void {
  for (let count = reader.uvarint(); count > 0; count--) {
    reader.uvarint()
    reader.skip(reader.uvarint())
  }
}

/** The node that leads the quorum of controllers, and all that vote in it, by DescribeQuorum v0 of any node. */
export async function describeQuorum(wire: Wire): Promise<{ leader: number; voters: number[] }> {
  const request = flexible((w) => {
    w.uvarint(2)
    putCompactString(w, '__cluster_metadata')
    w.uvarint(2)
    w.int32(0)
    noTags(w)
    noTags(w)
    noTags(w)
  })
  const reader = await wire.request(55, 0, request)
  skipTags(reader)
  check('DescribeQuorum', reader.int16())
  reader.uvarint() // topics
  reader.skip(reader.uvarint() - 1)
  reader.uvarint() // partitions
  reader.int32()
  check('DescribeQuorum of the partition', reader.int16())
  const leader = reader.int32()
  reader.int32() // epoch
  reader.int64() // high watermark
  const voters = Array.from({ length: reader.uvarint() - 1 }, () => {
    const voter = reader.int32()
    reader.int64() // end of its log
    skipTags(reader)
    return voter
  })
  return { leader, voters }
}

/** ElectLeaders v1: the preferred replica of each partition takes over, if it is in sync. */
export async function electPreferred(wire: Wire, topic: string, partitions: readonly number[]): Promise<void> {
  const request = new ByteWriter()
  request.int8(0)
  request.int32(1)
  putString(request, topic)
  request.int32(partitions.length)
  for (const partition of partitions) request.int32(partition)
  request.int32(30_000)
  const reader = await wire.request(43, 1, request)
  reader.int32()
  check('ElectLeaders', reader.int16())
  const electionNotNeeded = 84
  getArray(reader, () => {
    getString(reader)
    getArray(reader, () => {
      const partition = reader.int32()
      const code = reader.int16()
      const message = getString(reader)
      if (code !== 0 && code !== electionNotNeeded) {
        throw new WireError(`ElectLeaders ${topic}-${partition} (${message})`, code)
      }
    })
  })
}

/** AlterPartitionReassignments v0: the partition is to lie on these nodes. It goes on afterwards. */
export async function reassign(
  wire: Wire,
  topic: string,
  partitions: readonly { readonly partition: number; readonly replicas: readonly number[] }[],
): Promise<void> {
  const request = flexible((w) => {
    w.int32(30_000)
    w.uvarint(2)
    putCompactString(w, topic)
    w.uvarint(partitions.length + 1)
    for (const { partition, replicas } of partitions) {
      w.int32(partition)
      w.uvarint(replicas.length + 1)
      for (const replica of replicas) w.int32(replica)
      noTags(w)
    }
    noTags(w)
    noTags(w)
  })
  const reader = await wire.request(45, 0, request)
  skipTags(reader)
  reader.int32()
  check('AlterPartitionReassignments', reader.int16())
  reader.skip(Math.max(reader.uvarint() - 1, 0))
  for (let topics = reader.uvarint() - 1; topics > 0; topics--) {
    reader.skip(reader.uvarint() - 1)
    for (let count = reader.uvarint() - 1; count > 0; count--) {
      const partition = reader.int32()
      check(`AlterPartitionReassignments ${topic}-${partition}`, reader.int16())
      reader.skip(Math.max(reader.uvarint() - 1, 0))
      skipTags(reader)
    }
    skipTags(reader)
  }
}

function check(call: string, code: number): void {
  if (code !== 0) throw new WireError(call, code)
}
