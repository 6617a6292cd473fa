export const DEFAULT_SERVER = '127.0.0.1:9092'

/** The servers that a flag or the environment names; null: neither does. */
export function namedServer(flag: string | undefined): string | null {
  return flag ?? (process.env['MILLRACE_SERVER'] || null)
}
