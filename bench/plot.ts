import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { root } from '../test/support/files.ts'

export interface Series {
  readonly name: string
  readonly values: readonly number[]
}

/** Readable on a light and on a dark page. */
const COLOURS = ['#1f77b4', '#d9730d', '#3a9a5b', '#8a63d2']
const TEXT = '#808080'
const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [760, 300, 60, 40, 40, 50]

/** Which share of the values is at most x, over a logarithmic axis: one picture of medians, worst cases and all between. */
export function distributionPlot(title: string, unit: string, series: readonly Series[]): string {
  const all = series.flatMap(({ values }) => values)
  const [least, most] = [10 ** Math.floor(Math.log10(Math.min(...all))), 10 ** Math.ceil(Math.log10(Math.max(...all)))]
  const x = (value: number) =>
    LEFT + ((WIDTH - LEFT - RIGHT) * Math.log(value / least)) / Math.max(Math.log(most / least), Number.MIN_VALUE)
  const y = (share: number) => HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share
  const parts: string[] = []
  for (let tick = least; tick <= most * 1.001; tick *= 10) {
    parts.push(rule(x(tick), y(0), x(tick), y(1)), label(x(tick), y(0) + 18, `${tick}`, 'middle'))
  }
  for (const share of [0, 0.5, 1]) {
    parts.push(rule(x(least), y(share), x(most), y(share)), label(LEFT - 8, y(share) + 4, `${share * 100} %`, 'end'))
  }
  parts.push(label(x(most), HEIGHT - 8, unit, 'end'))
  series.forEach(({ name, values }, index) => {
    const colour = COLOURS[index % COLOURS.length] as string
    const sorted = [...values].sort((a, b) => a - b)
    const steps = sorted.map((value, rank) => `H${x(value).toFixed(1)}V${y((rank + 1) / sorted.length).toFixed(1)}`)
    const path = `M${x(least).toFixed(1)},${y(0).toFixed(1)}${steps.join('')}H${x(most).toFixed(1)}`
    parts.push(`<path d="${path}" fill="none" stroke="${colour}" stroke-width="2.5"/>`)
    parts.push(legend(index, name, colour))
  })
  return picture(title, parts)
}

/** Bars beside each other in groups; each value is the height of one bar. */
export function barPlot(title: string, groups: readonly { name: string; bars: readonly Series[] }[]): string {
  const most = Math.max(...groups.flatMap(({ bars }) => bars.flatMap(({ values }) => values)))
  const slot = (WIDTH - LEFT - RIGHT) / groups.length
  const y = (value: number) => HEIGHT - BOTTOM - ((HEIGHT - TOP - BOTTOM) * value) / most
  const parts = [rule(LEFT, y(0), WIDTH - RIGHT, y(0))]
  const names = new Map<string, string>()
  groups.forEach(({ name, bars }, at) => {
    const width = (slot * 0.8) / bars.length
    bars.forEach(({ name: bar, values: [value = 0] }, index) => {
      const colour = COLOURS[index % COLOURS.length] as string
      names.set(bar, colour)
      const left = LEFT + slot * (at + 0.1) + width * index
      parts.push(
        `<rect x="${left.toFixed(1)}" y="${y(value).toFixed(1)}" width="${(width * 0.9).toFixed(1)}" height="${(y(0) - y(value)).toFixed(1)}" fill="${colour}"/>`,
      )
      parts.push(label(left + width * 0.45, y(value) - 4, value >= 100 ? value.toFixed(0) : value.toFixed(1), 'middle'))
    })
    parts.push(label(LEFT + slot * (at + 0.5), y(0) + 18, name, 'middle'))
  })
  ;[...names].forEach(([name, colour], index) => parts.push(legend(index, name, colour)))
  return picture(title, parts)
}

function picture(title: string, parts: readonly string[]): string {
  const head = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`
  return `${[head, label(LEFT, 18, title, 'start'), ...parts, '</svg>'].join('\n')}\n`
}

function rule(x1: number, y1: number, x2: number, y2: number): string {
  const [a, b, c, d] = [x1, y1, x2, y2].map((value) => value.toFixed(1))
  return `<line x1="${a}" y1="${b}" x2="${c}" y2="${d}" stroke="${TEXT}" stroke-opacity="0.35"/>`
}

function label(x: number, y: number, text: string, anchor: 'start' | 'middle' | 'end'): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}" fill="${TEXT}">${escaped}</text>`
}

function legend(index: number, name: string, colour: string): string {
  const x = LEFT + index * 170
  return `<rect x="${x}" y="${TOP - 14}" width="10" height="10" fill="${colour}"/>${label(x + 15, TOP - 5, name, 'start')}`
}

/** `file` is a path below docs/. */
export function writePlot(file: string, svg: string): void {
  const path = join(root, 'docs', file)
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, svg)
}
