import { join } from 'node:path'
import { root } from '../../support/files.ts'
import { fetchPythonClients, pythonPath } from '../../support/toolchain.ts'
import type { ClientDefinition } from '../client.ts'

function pythonClient(name: string, file: string): ClientDefinition {
  const program = join(root, 'test', 'compat', 'adapters', 'python', file)
  return {
    name,
    install: fetchPythonClients,
    command: () => [pythonPath(), program],
    // The sources are not to be written beside.
    env: { PYTHONDONTWRITEBYTECODE: '1' },
  }
}

export const pythonClients: readonly ClientDefinition[] = [
  pythonClient('confluent-kafka', 'confluent.py'),
  pythonClient('kafka-python', 'kafka_python.py'),
  pythonClient('aiokafka', 'aio.py'),
]
