/** A setting that came through an environment variable. */
export interface EnvironmentSetting {
  readonly variable: string
  readonly key: string
  readonly value: string
}

/** Variables of Kafka's scripts and images that mean something to a JVM or to a start script, and nothing here. */
const SCRIPT_VARIABLES = new Set([
  'KAFKA_HEAP_OPTS',
  'KAFKA_OPTS',
  'KAFKA_JMX_OPTS',
  'KAFKA_JMX_PORT',
  'KAFKA_JMX_HOSTNAME',
  'KAFKA_LOG4J_OPTS',
  'KAFKA_LOG4J_ROOT_LOGLEVEL',
  'KAFKA_LOG4J_LOGGERS',
  'KAFKA_TOOLS_LOG4J_LOGLEVEL',
  'KAFKA_GC_LOG_OPTS',
  'KAFKA_JVM_PERFORMANCE_OPTS',
  'KAFKA_DEBUG',
  'KAFKA_HOME',
  'KAFKA_VERSION',
  'KAFKA_CLUSTER_ID',
])
/** Of the commands that talk to a cluster: whoever has it in a shell starts nodes there too. */
const CLIENT_VARIABLE = 'MILLRACE_SERVER'
/** Kubernetes puts these into every container beside a service named `kafka` or `millrace`. */
const SERVICE_VARIABLE = /_SERVICE_(HOST|PORT)(_\w+)?$|_PORT(_\d+_(TCP|UDP)(_(PROTO|PORT|ADDR))?)?$/

/**
 * Settings among the environment's variables: `KAFKA_LOG_DIRS` is `log.dirs`, `MILLRACE_NODE_ID` is `node.id`. Names
 * are translated as Kafka's container image does it: `___` is a dash, `__` an underscore, `_` a dot.
 */
export function readEnvironment(environment: Readonly<Record<string, string | undefined>>): {
  settings: EnvironmentSetting[]
  ignored: string[]
} {
  const settings: EnvironmentSetting[] = []
  const ignored: string[] = []
  for (const variable of Object.keys(environment).sort()) {
    const value = environment[variable]
    const match = /^(?:KAFKA|MILLRACE)_([A-Z0-9_]+)$/.exec(variable)
    if (match === null || value === undefined || variable === CLIENT_VARIABLE) continue
    if (SCRIPT_VARIABLES.has(variable)) ignored.push(variable)
    else if (!isServiceVariable(variable, value)) settings.push({ variable, key: keyOf(match[1] as string), value })
  }
  return { settings, ignored }
}

function isServiceVariable(variable: string, value: string): boolean {
  return SERVICE_VARIABLE.test(variable) && (/^(tcp|udp):\/\//.test(value) || /_SERVICE_|_PORT_\d/.test(variable))
}

function keyOf(name: string): string {
  return name
    .toLowerCase()
    .replace(/___/g, '-')
    .replace(/(?<!_)_(?!_)/g, '.')
    .replace(/__/g, '_')
}
