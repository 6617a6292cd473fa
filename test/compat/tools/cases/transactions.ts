import type { Transcript } from '../transcript.ts'

/** kafka-transactions. */
export async function transactions(tools: Transcript): Promise<void> {
  await tools.quietly('topics --create --topic accounts --partitions 1')
  await tools.quietly('verifiable-producer --topic accounts --max-messages 3 --throughput 1000')
  const mask = {
    mask: [
      [/^(0 )\d+/, '$1 PRODUCER'],
      [/(\s)\d{4}\s/g, '$1 N '],
    ],
  } as const
  await tools.run('transactions list', mask)
  await tools.run('transactions describe --transactional-id none')
  await tools.run('transactions describe-producers --topic accounts --partition 0', mask)
  await tools.run('transactions find-hanging --broker-id 1')
  await tools.run(
    'producer-perf-test --topic accounts --num-records 20 --record-size 10 --throughput -1 --transaction-duration-ms 20',
    {
      mask: [[/\d+(\.\d+)?/g, 'N']],
    },
  )
}
