/** Operations as AclOperation numbers them; an authorised-operations field is a set of them as bits. */
const Operation = {
  read: 3,
  write: 4,
  create: 5,
  delete: 6,
  alter: 7,
  describe: 8,
  clusterAction: 9,
  describeConfigs: 10,
  alterConfigs: 11,
  idempotentWrite: 12,
} as const

function bits(...names: (keyof typeof Operation)[]): number {
  return names.reduce((set, name) => set | (1 << Operation[name]), 0)
}

/** Not asked for. */
export const OPERATIONS_OMITTED = -0x80000000

/** Without an authorizer everybody may do everything that the kind of resource knows. */
export const TOPIC_OPERATIONS = bits(
  'read',
  'write',
  'create',
  'delete',
  'alter',
  'describe',
  'describeConfigs',
  'alterConfigs',
)
export const GROUP_OPERATIONS = bits('read', 'delete', 'describe', 'describeConfigs', 'alterConfigs')
export const CLUSTER_OPERATIONS = bits(
  'create',
  'alter',
  'describe',
  'clusterAction',
  'describeConfigs',
  'alterConfigs',
  'idempotentWrite',
)
