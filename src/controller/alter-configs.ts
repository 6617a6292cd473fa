import { MetadataDelta } from '../metadata/delta.ts'
import type { ConfigResource, MetadataImage } from '../metadata/image.ts'
import { type MetadataRecord, ResourceType } from '../metadata/records.ts'
import type { AlterConfigsRequest, AlterConfigsResponse } from '../protocol/apis/alter-configs.ts'
import type {
  IncrementalAlterConfigsRequest,
  IncrementalAlterConfigsResponse,
} from '../protocol/apis/incremental-alter-configs.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { listOf, parseConfig } from './config-def.ts'
import { brokerNameProblem, checkConfigs, defOn, hasConfigs, unknownType } from './config-checks.ts'
import { configRecord } from './config-record.ts'
import { ACCEPTED, type Decision, type DecisionContext, type Refusal, refusal } from './decision.ts'
import { changesOf, topicsById } from './elections.ts'

/** What IncrementalAlterConfigs may do to one key (KIP-339). */
export const ConfigOperation = { set: 0, delete: 1, append: 2, subtract: 3 } as const

interface ConfigChange {
  readonly name: string
  readonly configOperation: number
  readonly value: string | null
}

interface ResourceChange {
  readonly resourceType: number
  readonly resourceName: string
  readonly configs: readonly ConfigChange[]
}

type Outcome = { readonly records: readonly MetadataRecord[] } | { readonly refused: Refusal }

/**
 * Each resource succeeds or fails as a whole, apart from the others. Levels of loggers are no records and are set by
 * the broker that was asked; they do not come here.
 */
export function incrementalAlterConfigs(
  context: DecisionContext,
  request: IncrementalAlterConfigsRequest,
): Decision<IncrementalAlterConfigsResponse> {
  return withElr(
    context,
    alter(request, (resource) => changeResource(context, resource)),
  )
}

/** The older form: what is not named goes back to its default. */
export function alterConfigs(context: DecisionContext, request: AlterConfigsRequest): Decision<AlterConfigsResponse> {
  return withElr(
    context,
    alter(request, (resource) => replaceResource(context, resource)),
  )
}

/** Where fewer in sync are enough from now on, the leader commits without the eligible ones: they are so no more. */
function withElr<R>(context: DecisionContext, { records, response }: Decision<R>): Decision<R> {
  if (!records.some(({ type, value }) => type === 'Config' && value.name === 'min.insync.replicas')) {
    return { records, response }
  }
  const { image } = context
  const delta = new MetadataDelta(image)
  for (const record of records) delta.replay(record)
  const after = { ...context, image: delta.apply(image.position) }
  const topics = topicsById(after, image.topicIndex.withEligible)
  const voided = changesOf(after, topics, {}, ({ elr }) => (elr.length > 0 ? {} : null))
  return { records: [...records, ...voided.records], notices: voided.notices, response }
}

type AlteredResource<C> = {
  readonly resourceType: number
  readonly resourceName: string
  readonly configs: readonly C[]
}

function alter<C extends { readonly name: string }>(
  request: { readonly resources: readonly AlteredResource<C>[]; readonly validateOnly: boolean },
  change: (resource: AlteredResource<C>) => Outcome,
): Decision<AlterConfigsResponse> {
  const keyOf = ({ resourceType, resourceName }: AlteredResource<C>) => `${resourceType}:${resourceName}`
  const perKey = Map.groupBy(request.resources, keyOf)
  const records: MetadataRecord[] = []
  const responses = request.resources.map((resource) => {
    const { resourceType, resourceName } = resource
    let result: Refusal = ACCEPTED
    if ((perKey.get(keyOf(resource))?.length ?? 0) > 1) {
      result = refusal(ErrorCode.INVALID_REQUEST, 'Each resource must appear at most once.')
    } else if (new Set(resource.configs.map(({ name }) => name)).size < resource.configs.length) {
      result = refusal(ErrorCode.INVALID_REQUEST, 'Error due to duplicate config keys')
    } else {
      const outcome = change(resource)
      if ('refused' in outcome) result = outcome.refused
      else if (!request.validateOnly) records.push(...outcome.records)
    }
    return { resourceType, resourceName, ...result }
  })
  return { records, response: { throttleTimeMs: 0, responses } }
}

function changeResource(context: DecisionContext, resource: ResourceChange): Outcome {
  const target = { type: resource.resourceType, name: resource.resourceName }
  const nulls = resource.configs.filter((c) => c.configOperation !== ConfigOperation.delete && c.value === null)
  if (nulls.length > 0) return { refused: nullValues(nulls) }
  if (!hasConfigs(target.type)) return { refused: unknownType(target.type) }
  const nameProblem = target.type === ResourceType.broker ? brokerNameProblem(context.image, target.name) : null
  if (nameProblem !== null) return { refused: refusal(ErrorCode.INVALID_REQUEST, nameProblem) }
  const current = context.image.configOf(target)
  const next = new Map(current)
  for (const change of resource.configs) {
    const problem = applyOperation(target, next, change)
    if (problem !== null) return { refused: problem }
  }
  return finish(context, target, next, new Set(resource.configs.map(({ name }) => name)))
}

function nullValues(configs: readonly { readonly name: string }[]): Refusal {
  const names = configs.map(({ name }) => name).join(', ')
  return refusal(ErrorCode.INVALID_REQUEST, `Null value not supported for : ${names}`)
}

function applyOperation(target: ConfigResource, next: Map<string, string>, change: ConfigChange): Refusal | null {
  const { name, configOperation } = change
  const value = change.value ?? ''
  switch (configOperation) {
    case ConfigOperation.set:
      next.set(name, value)
      return null
    case ConfigOperation.delete:
      next.delete(name)
      return null
    case ConfigOperation.append:
    case ConfigOperation.subtract: {
      const def = defOn(target.type, name)
      if (def?.type !== 'list') {
        return refusal(ErrorCode.INVALID_CONFIG, notAList(target, name, configOperation))
      }
      const before = listOf(next.get(name) ?? def.default ?? '').filter((each) => each !== '')
      const operands = value.split(',').map((each) => each.trim())
      const after =
        configOperation === ConfigOperation.append
          ? [...before, ...new Set(operands.filter((each) => !before.includes(each)))]
          : before.filter((each) => !operands.includes(each))
      next.set(name, after.join(','))
      return null
    }
    default:
      return refusal(ErrorCode.INVALID_REQUEST, `Unknown operations type ${configOperation}`)
  }
}

function notAList({ type }: ConfigResource, name: string, operation: number): string {
  const word = operation === ConfigOperation.append ? 'append' : 'subtract'
  if (type === ResourceType.broker) return `Config value ${word} is not allowed for config key: ${name}`
  return `Can't ${word.toUpperCase()} to key ${name} because its type is not LIST.`
}

function replaceResource(
  context: DecisionContext,
  resource: AlteredResource<{ readonly name: string; readonly value: string | null }>,
): Outcome {
  const target = { type: resource.resourceType, name: resource.resourceName }
  const nulls = resource.configs.filter(({ value }) => value === null)
  if (nulls.length > 0) return { refused: nullValues(nulls) }
  const next = new Map(resource.configs.map(({ name, value }) => [name, value as string]))
  return finish(context, target, next, new Set(next.keys()))
}

/** Checks what the resource would have and turns the difference into records. */
function finish(
  { image, broker }: DecisionContext,
  target: ConfigResource,
  next: ReadonlyMap<string, string>,
  named: ReadonlySet<string>,
): Outcome {
  const checked = checkConfigs(image, broker, target, next)
  if (checked.errorCode !== ErrorCode.NONE) return { refused: checked }
  const missing = missingResource(image, target)
  if (missing !== null) return { refused: missing }
  const current = image.configOf(target)
  const records: MetadataRecord[] = []
  for (const key of new Set([...named, ...current.keys()])) {
    const value = normalValue(target, key, next.get(key))
    if (value !== null && Buffer.byteLength(value) > VALUE_BYTES_MAX) return { refused: tooLong() }
    // A broker's key is written even when it has the value already: brokers then load a changed file again.
    const reload = target.type === ResourceType.broker && named.has(key)
    if (value !== (current.get(key) ?? null) || reload) records.push(configRecord(target, key, value))
  }
  return { records }
}

/** Of one value, in a record and in an answer. What is appended to a list grows beyond what any request carries. */
const VALUE_BYTES_MAX = 32_767

function tooLong(): Refusal {
  const message = `The configuration value cannot be added because it exceeds the maximum value size of ${VALUE_BYTES_MAX} bytes.`
  return refusal(ErrorCode.INVALID_CONFIG, message)
}

function normalValue(target: ConfigResource, key: string, value: string | undefined): string | null {
  const def = defOn(target.type, key)
  if (value === undefined || def === undefined) return null
  const parsed = parseConfig({ ...def, name: key }, value)
  return 'value' in parsed ? parsed.value : null
}

function missingResource(image: MetadataImage, { type, name }: ConfigResource): Refusal | null {
  if (type !== ResourceType.topic || image.topic(name) !== undefined) return null
  return refusal(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, `The topic '${name}' does not exist.`)
}
