import { ResourceType } from '../../metadata/records.ts'
import type { IncrementalAlterConfigs } from '../../protocol/apis/incremental-alter-configs.ts'
import { ErrorCode } from '../../protocol/errors.ts'
import type { RequestOf, ResponseInput } from '../../protocol/schema.ts'

type Request = RequestOf<typeof IncrementalAlterConfigs>
type Response = ResponseInput<typeof IncrementalAlterConfigs>
type Resource = Request['resources'][number]
type Result = Response['responses'][number]

/** Levels by Kafka's names, as tools send them. */
export const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'] as const
/** The only logger there is. Its level goes back to this when its config is deleted. */
export const ROOT_LOGGER = 'root'
const DEFAULT_LEVEL = 'INFO'
const SET = 0
const DELETE = 1

export interface LoggerLevelSetter {
  readonly nodeId: number
  setLevel(level: string): void
}

/**
 * Levels of loggers belong to the process and are no part of the metadata: this node sets its own, the rest of the
 * request goes to the controller.
 */
export async function withLoggers(
  setter: LoggerLevelSetter,
  request: Request,
  others: (request: Request) => Promise<Response>,
): Promise<Response> {
  const isLogger = ({ resourceType }: Resource) => resourceType === ResourceType.brokerLogger
  const mine = request.resources.filter(isLogger)
  if (mine.length === 0) return others(request)
  const results = mine.map((resource) => alterLoggers(setter, resource, request.validateOnly))
  const rest = request.resources.filter((resource) => !isLogger(resource))
  const answered = rest.length === 0 ? [] : (await others({ ...request, resources: rest })).responses
  return { responses: [...results, ...answered] }
}

function alterLoggers(setter: LoggerLevelSetter, resource: Resource, validateOnly: boolean): Result {
  const { resourceType, resourceName, configs } = resource
  const result = (errorCode: number, errorMessage: string | null): Result => {
    return { resourceType, resourceName, errorCode, errorMessage }
  }
  if (resourceName !== String(setter.nodeId)) {
    const text = `Unexpected broker id, expected ${setter.nodeId} but received ${resourceName}`
    return result(ErrorCode.INVALID_REQUEST, text)
  }
  const levels: string[] = []
  for (const { name, configOperation, value } of configs) {
    if (name !== ROOT_LOGGER) return result(ErrorCode.INVALID_CONFIG, `Logger ${name} does not exist!`)
    if (configOperation !== SET && configOperation !== DELETE) {
      return result(ErrorCode.INVALID_REQUEST, `Only SET and DELETE are allowed on a logger, not ${configOperation}`)
    }
    const level = configOperation === DELETE ? DEFAULT_LEVEL : (value ?? '')
    if (!(LOG_LEVELS as readonly string[]).includes(level)) {
      return result(ErrorCode.INVALID_CONFIG, `Log level ${level} of ${name} is none of ${LOG_LEVELS.join(', ')}`)
    }
    levels.push(level)
  }
  if (!validateOnly) for (const level of levels) setter.setLevel(level)
  return result(ErrorCode.NONE, null)
}
