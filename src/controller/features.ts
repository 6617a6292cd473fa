import { MetadataImage } from '../metadata/image.ts'
import { type MetadataRecord, ResourceType } from '../metadata/records.ts'
import type { UpdateFeaturesRequest, UpdateFeaturesResponse } from '../protocol/apis/update-features.ts'
import { ErrorCode } from '../protocol/errors.ts'
import { configRecord } from './config-record.ts'
import { ACCEPTED, type Decision, type DecisionContext, type Refusal, refusal } from './decision.ts'
import { DURABILITY_FEATURE, ELR_FEATURE } from './feature-names.ts'

/** The metadata.version of Kafka 4.4.0 (4.4-IV2), in whose record versions we write. */
export const METADATA_VERSION = 33
/** 3.3-IV3, from which on a KRaft cluster of Kafka 4 may start. */
const METADATA_VERSION_MIN = 7

export interface SupportedFeature {
  readonly name: string
  readonly min: number
  readonly max: number
  /** Level of a new cluster; 0: not on. */
  readonly initial: number
}

/**
 * What this version can do. Only what is served stands here: a client that sees `transaction.version` or
 * `group.version` uses it.
 */
export const supportedFeatures: readonly SupportedFeature[] = [
  { name: 'metadata.version', min: METADATA_VERSION_MIN, max: METADATA_VERSION, initial: METADATA_VERSION },
  // Dynamic voters (KIP-853). Its level is in the quorum's control records, not in metadata records.
  { name: 'kraft.version', min: 0, max: 1, initial: 1 },
  { name: ELR_FEATURE, min: 0, max: 1, initial: 1 },
]

/** What a node of ours says of itself when it registers, as the requests want it. One that is told to acknowledge from memory has no mark. */
export function registeredFeatures(countsDurable: boolean) {
  const mark: SupportedFeature = { name: DURABILITY_FEATURE, min: 0, max: 1, initial: 0 }
  const all = countsDurable ? [...supportedFeatures, mark] : supportedFeatures
  return all.map(({ name, min, max }) => ({ name, minSupportedVersion: min, maxSupportedVersion: max }))
}

/** The first records of a new cluster; `staticValues` is what the node that founds it was started with. */
export function bootstrapRecords(staticValues: ReadonlyMap<string, string> = new Map()): MetadataRecord[] {
  const levels = supportedFeatures
    .filter(({ name, initial }) => name !== 'kraft.version' && initial > 0)
    .map(({ name, initial }): MetadataRecord => ({ type: 'FeatureLevel', value: { name, featureLevel: initial } }))
  return [...levels, ...sharedMinInsync(MetadataImage.empty, staticValues)]
}

/**
 * With eligible replicas all nodes must go by one `min.insync.replicas`: what this one was started with becomes the
 * cluster's, unless the cluster has its own, and what is set for single brokers goes. Kafka does the same.
 */
function sharedMinInsync(image: MetadataImage, staticValues: ReadonlyMap<string, string>): MetadataRecord[] {
  const records: MetadataRecord[] = []
  const all = { type: ResourceType.broker, name: '' }
  const own = staticValues.get(MIN_INSYNC)
  if (own !== undefined && !image.configOf(all).has(MIN_INSYNC)) records.push(configRecord(all, MIN_INSYNC, own))
  for (const { type, name, values } of image.configs.sorted()) {
    if (type !== ResourceType.broker || name === '' || !values.has(MIN_INSYNC)) continue
    records.push(configRecord({ type, name }, MIN_INSYNC, null))
  }
  return records
}

const MIN_INSYNC = 'min.insync.replicas'

/** Finalised features that this version cannot serve, as `name level`: a cluster that uses them is not ours to run. */
export function unservedFeatures(levels: Iterable<readonly [name: string, level: number]>): string[] {
  const unserved: string[] = []
  for (const [name, level] of [...levels].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const supported = supportedFeatures.find((each) => each.name === name)
    if (supported === undefined || level < supported.min || level > supported.max) unserved.push(`${name} ${level}`)
  }
  return unserved
}

const UPGRADE = 1
const SAFE_DOWNGRADE = 2
const UNSAFE_DOWNGRADE = 3
/** The metadata versions that changed what records say: going back behind one would lose it (Kafka's MetadataVersion). */
const CHANGED_METADATA = [8, 11, 13, 14, 15, 17, 23, 30, 32, 33]

/** All updates or none; of single ones the answer speaks only when all succeeded, as Kafka's does. */
export function updateFeatures(
  { image, version, broker }: DecisionContext,
  { featureUpdates, validateOnly }: UpdateFeaturesRequest,
): Decision<UpdateFeaturesResponse> {
  const records: MetadataRecord[] = []
  const seen = new Set<string>()
  let first: Refusal = ACCEPTED
  const results = featureUpdates.map(({ feature, maxVersionLevel, upgradeType, allowDowngrade }) => {
    const type = version > 0 ? upgradeType : allowDowngrade ? SAFE_DOWNGRADE : UPGRADE
    const result = seen.has(feature)
      ? refusal(ErrorCode.INVALID_REQUEST, `Provided feature can not be listed twice: ${feature}`)
      : checkLevel(image, broker.brokerId, { feature, level: maxVersionLevel, type, isOldRequest: version === 0 })
    seen.add(feature)
    if (result.errorCode !== ErrorCode.NONE && first === ACCEPTED) first = result
    if (result.errorCode === ErrorCode.NONE && maxVersionLevel !== (image.features.get(feature) ?? 0)) {
      if (feature === ELR_FEATURE && maxVersionLevel > 0) records.push(...sharedMinInsync(image, broker.staticValues))
      records.push({ type: 'FeatureLevel', value: { name: feature, featureLevel: maxVersionLevel } })
    }
    return { feature, ...result }
  })
  const failed = first !== ACCEPTED
  const summary = `The update failed for all features since the following feature had an error: ${first.errorMessage}`
  const outcome = failed ? refusal(first.errorCode, summary) : ACCEPTED
  const response = { throttleTimeMs: 0, ...outcome, results: version <= 1 && !failed ? results : [] }
  return { records: failed || validateOnly ? [] : records, response }
}

interface WantedLevel {
  readonly feature: string
  readonly level: number
  readonly type: number
  /** Version 0 allows to lower a level, but does not say that it is to be lowered. */
  readonly isOldRequest: boolean
}

function checkLevel(
  image: MetadataImage,
  controllerId: number,
  { feature, level, type, isOldRequest }: WantedLevel,
): Refusal {
  const bad = (why: string) =>
    refusal(ErrorCode.INVALID_UPDATE_VERSION, `Invalid update version ${level} for feature ${feature}. ${why}`)
  if (type !== UPGRADE && type !== SAFE_DOWNGRADE && type !== UNSAFE_DOWNGRADE) {
    return bad('The controller does not support the given upgrade type.')
  }
  if (level < 0) return bad('A feature version cannot be less than 0.')
  const supported = supportedFeatures.find(({ name }) => name === feature)
  if (supported === undefined || feature === 'kraft.version') {
    return bad(`Local controller ${controllerId} does not support this feature.`)
  }
  if (level < supported.min || level > supported.max) {
    return bad(`Local controller ${controllerId} only supports versions ${supported.min}-${supported.max}`)
  }
  const current = image.features.get(feature) ?? 0
  if (level > current && type !== UPGRADE && !isOldRequest) return bad("Can't downgrade to a newer version.")
  if (level < current && type === UPGRADE) {
    return bad(
      `Can't downgrade the version of this feature without setting the upgrade type to either safe or unsafe downgrade.`,
    )
  }
  for (const { brokerId, features } of image.brokers.values()) {
    const range = features.find(({ name }) => name === feature)
    const [low, high] = [range?.minSupportedVersion ?? 0, range?.maxSupportedVersion ?? 0]
    if (level < low || level > high) return bad(`Broker ${brokerId} only supports versions ${low}-${high}`)
  }
  for (const { controllerId, features } of image.controllers.values()) {
    const range = features.find(({ name }) => name === feature)
    const [low, high] = [range?.minSupportedVersion ?? 0, range?.maxSupportedVersion ?? 0]
    if (level < low || level > high) return bad(`Controller ${controllerId} only supports versions ${low}-${high}`)
  }
  if (feature === 'metadata.version' && CHANGED_METADATA.some((each) => level < each && each <= current)) {
    const why =
      type === UNSAFE_DOWNGRADE
        ? 'Unsafe metadata downgrade is not supported in this version.'
        : 'Refusing to perform the requested downgrade because it might delete metadata information.'
    const message = `Unsupported metadata.version downgrade from ${current} to ${level}. ${why}`
    return refusal(ErrorCode.INVALID_UPDATE_VERSION, message)
  }
  return ACCEPTED
}
