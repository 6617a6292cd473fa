/** One curve, or several, of the dashboard. `$name` in an expression is the metric's own name. */
export interface Panel {
  /** Heading under which it stands. */
  readonly row: string
  readonly title: string
  readonly expr: string
  /** Of each curve, by its labels. */
  readonly legend?: string
  /** As Grafana calls it. */
  readonly unit?: 'short' | 'Bps' | 'bytes' | 's' | 'reqps' | 'percentunit'
  /** One number instead of a curve. */
  readonly isNumber?: boolean
}

export interface Alert {
  readonly name: string
  readonly expr: string
  /** How long it must be so. */
  readonly for: string
  readonly severity: 'warning' | 'critical'
  readonly summary: string
  readonly description: string
}

export interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram'
  readonly help: string
  /** Their values are bounded: see docs/monitoring.md. */
  readonly labels?: readonly string[]
  readonly panel?: Panel
  readonly alert?: Alert
}
