import type { ConfigResource } from '../metadata/image.ts'
import type { MetadataRecord } from '../metadata/records.ts'

/** A null value takes the key away. */
export function configRecord({ type, name }: ConfigResource, key: string, value: string | null): MetadataRecord {
  return { type: 'Config', value: { resourceType: type, resourceName: name, name: key, value } }
}
