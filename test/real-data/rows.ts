import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../support/files.ts'

/** One event of the data set, as text without tab or line end. */
export interface Row {
  readonly key: string | null
  readonly value: string
}

export interface Dataset {
  readonly name: 'birdstrikes' | 'flights'
  readonly rows: readonly Row[]
}

const data = join(root, 'node_modules', 'vega-datasets', 'data')

/** Birds struck by aircraft, as lines of CSV; keyed by airport, some of which have hundreds of rows. */
function birdstrikes(): Dataset {
  const [, ...lines] = readFileSync(join(data, 'birdstrikes.csv'), 'utf8').split(/\r?\n/)
  const rows = lines
    .filter((line) => line !== '')
    .map((line) => ({ key: line.slice(0, line.indexOf(',')), value: line }))
  return { name: 'birdstrikes', rows }
}

/** 200 000 flights as JSON objects, without a key. Several thousand rows are equal to another one. */
function flights(): Dataset {
  const list = JSON.parse(readFileSync(join(data, 'flights-200k.json'), 'utf8')) as object[]
  return { name: 'flights', rows: list.map((flight) => ({ key: null, value: JSON.stringify(flight) })) }
}

export function loadDatasets(): Dataset[] {
  return [birdstrikes(), flights()]
}
