/**
 * `npm run dashboards`: writes docs/monitoring from the table of metrics (src/server/metrics/table.ts): a dashboard for
 * Grafana, alert rules for Prometheus, and the list of metrics. With `--check` it only says whether they are current.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { stringify } from 'yaml'
import type { Alert, Metric, Panel } from '../src/server/metrics/metric.ts'
import { METRICS } from '../src/server/metrics/table.ts'
import { root } from '../test/support/files.ts'

const entries = Object.entries(METRICS) as [string, Metric][]
/** On a grid of 24 columns. */
const PANEL_WIDTH = 8
const PANEL_HEIGHT = 7
const NUMBER_WIDTH = 4
const NUMBER_HEIGHT = 4
const ROWS = ['Cluster', 'Traffic', 'Clients', 'Consumer groups', 'Replication', 'Process']
const HEADER = 'Made by npm run dashboards from src/server/metrics; changes here are lost.'

function exprOf(name: string, { expr }: { readonly expr: string }): string {
  return expr.replaceAll('$name', name)
}

/** The metrics with panels, in the order of the rows. */
function panelsOf(row: string): [string, Panel][] {
  const panels = entries.flatMap(([name, { panel }]): [string, Panel][] => (panel?.row === row ? [[name, panel]] : []))
  return [...panels.filter(([, { isNumber }]) => isNumber), ...panels.filter(([, { isNumber }]) => !isNumber)]
}

function dashboard(): string {
  const panels: object[] = []
  let y = 0
  for (const row of ROWS) {
    panels.push({ id: panels.length + 1, type: 'row', title: row, collapsed: false, gridPos: { x: 0, y, w: 24, h: 1 } })
    let [x, height] = [0, 0]
    y += 1
    for (const [name, panel] of panelsOf(row)) {
      const [w, h] = panel.isNumber ? [NUMBER_WIDTH, NUMBER_HEIGHT] : [PANEL_WIDTH, PANEL_HEIGHT]
      if (x + w > 24 || (height > 0 && h !== height)) [x, y, height] = [0, y + height, 0]
      panels.push(panelJson(panels.length + 1, name, panel, { x, y, w, h }))
      x += w
      height = h
    }
    y += height
  }
  const datasource = { name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }
  const page = {
    title: 'Millrace',
    uid: 'millrace',
    description: HEADER,
    tags: ['millrace', 'kafka'],
    schemaVersion: 39,
    editable: true,
    refresh: '30s',
    time: { from: 'now-3h', to: 'now' },
    templating: { list: [datasource] },
    panels,
  }
  return `${JSON.stringify(page, null, 2)}\n`
}

function panelJson(id: number, name: string, panel: Panel, gridPos: object): object {
  const datasource = { type: 'prometheus', uid: '${datasource}' }
  const target = { refId: 'A', datasource, expr: exprOf(name, panel), legendFormat: panel.legend ?? '' }
  return {
    id,
    type: panel.isNumber ? 'stat' : 'timeseries',
    title: panel.title,
    description: METRICS[name as keyof typeof METRICS].help,
    datasource,
    gridPos,
    targets: [target],
    fieldConfig: { defaults: { unit: panel.unit ?? 'short', min: 0 }, overrides: [] },
    options: panel.isNumber ? { reduceOptions: { calcs: ['lastNotNull'] } } : { tooltip: { mode: 'multi' } },
  }
}

function rules(): string {
  const alerts = entries.flatMap(([name, { alert }]) => (alert === undefined ? [] : [ruleOf(name, alert)]))
  return `# ${HEADER}\n${stringify({ groups: [{ name: 'millrace', rules: alerts }] }, { lineWidth: 0 })}`
}

function ruleOf(name: string, alert: Alert): object {
  const { severity, summary, description } = alert
  return {
    alert: alert.name,
    expr: exprOf(name, alert),
    for: alert.for,
    labels: { severity },
    annotations: { summary, description },
  }
}

function list(): string {
  const rows = entries.map(([name, { type, labels = [], help }]) => {
    return `| \`${name}\` | ${type} | ${labels.map((label) => `\`${label}\``).join(', ')} | ${help} |`
  })
  const head = ['| name | type | labels | |', '| --- | --- | --- | --- |']
  return [`# Metrics`, '', `${HEADER} [monitoring.md](../monitoring.md) explains them.`, '', ...head, ...rows, ''].join(
    '\n',
  )
}

const files = { 'grafana.json': dashboard(), 'alerts.yml': rules(), 'metrics.md': list() }
const folder = join(root, 'docs', 'monitoring')
let isCurrent = true
for (const [name, content] of Object.entries(files)) {
  const path = join(folder, name)
  if (process.argv.includes('--check')) {
    if (existsSync(path) && readFileSync(path, 'utf8') === content) continue
    console.log(`  docs/monitoring/${name} is not what the table of metrics says: npm run dashboards`)
    isCurrent = false
  } else {
    mkdirSync(folder, { recursive: true })
    writeFileSync(path, content)
  }
}
if (!isCurrent) process.exitCode = 1
