import { array, bool, bytes, float64, int32, int64, int8, logRecord, string, struct, uuid } from '../schema.ts'

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

export const RemoveAccessControlEntryRecord = logRecord({
  id: 19,
  name: 'RemoveAccessControlEntry',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    id: uuid,
  }),
})

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

export const RemoveDelegationTokenRecord = logRecord({
  id: 26,
  name: 'RemoveDelegationToken',
  versions: [0, 0],
  flexible: 0,
  fields: struct({
    tokenId: string,
  }),
})

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
