import { array, bool, bytes, float64, int32, int64, int8, logRecord, string, struct, uuid } from '../schema.ts'

/** An access rule exists, under an id of its own (KIP-801). */
export const AccessControlEntryRecord = logRecord({
  id: 18,
  name: 'AccessControlEntry',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    id: uuid,
    resourceType: int8,
    resourceName: string,
    patternType: int8,
    principal: string,
    host: string,
    operation: int8,
    permissionType: int8,
  }),
})

/** An access rule is deleted. */
export const RemoveAccessControlEntryRecord = logRecord({
  id: 19,
  name: 'RemoveAccessControlEntry',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    id: uuid,
  }),
})

/** A user's SCRAM credential (KIP-900). Salted keys, not the password. */
export const UserScramCredentialRecord = logRecord({
  id: 11,
  name: 'UserScramCredential',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    name: string,
    mechanism: int8,
    salt: bytes,
    storedKey: bytes,
    serverKey: bytes,
    iterations: int32,
  }),
})

/** A user's SCRAM credential is deleted. */
export const RemoveUserScramCredentialRecord = logRecord({
  id: 22,
  name: 'RemoveUserScramCredential',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    name: string,
    mechanism: int8,
  }),
})

/**
 * A delegation token exists or was renewed. Its secret is not stored: it is computed from the id and the cluster's
 * secret key.
 */
export const DelegationTokenRecord = logRecord({
  id: 10,
  name: 'DelegationToken',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    owner: string,
    requester: string,
    renewers: array(string),
    issueTimestamp: int64,
    maxTimestamp: int64,
    expirationTimestamp: int64,
    tokenId: string,
  }),
})

/** A delegation token is deleted. */
export const RemoveDelegationTokenRecord = logRecord({
  id: 26,
  name: 'RemoveDelegationToken',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    tokenId: string,
  }),
})

/** A quota of an entity was set or removed (KIP-546). */
export const ClientQuotaRecord = logRecord({
  id: 14,
  name: 'ClientQuota',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    entity: array(struct({ entityType: string, entityName: string.nullable() })),
    key: string,
    value: float64,
    remove: bool,
  }),
})
