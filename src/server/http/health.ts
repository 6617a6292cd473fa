export interface HealthCheck {
  readonly name: string
  /** Null when all is well, else what is wrong and since when or by how much, in words. */
  readonly problem: string | null
}

export interface HealthReport {
  /** A failure here means: restart the process. */
  readonly live: readonly HealthCheck[]
  /** A failure here means: send no clients yet. */
  readonly ready: readonly HealthCheck[]
}
