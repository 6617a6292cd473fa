import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GroupCoordinator } from '../../coordinator/group-coordinator.ts'
import type { GroupStanding } from '../../group/standing.ts'
import type { GroupLags } from '../lag/group-lags.ts'
import { renderMetrics } from './family.ts'
import { LatencyHistogram } from './histogram.ts'
import { groupMetrics, POSITIONS_SHOWN_MAX } from './group-metrics.ts'
import { quantileOf } from './request-metrics.ts'

function standing(groupId: string, positions: number): GroupStanding {
  const offsets = Array.from({ length: positions }, (_, partition) => {
    return { topic: 't', topicId: '', partition, offset: 7, sinceOffset: 7, sinceMs: 0, isAtRisk: groupId === 'late' }
  })
  return { groupId, members: 0, offsets, lost: [], lostRecords: new Map() }
}

test('of ten thousand groups as many are shown as there is room for, those at risk first, and the rest is counted', async () => {
  const groups = [...Array.from({ length: 10_000 }, (_, index) => standing(`g${index}`, 10)), standing('late', 3)]
  const byId = new Map(groups.map((group) => [group.groupId, group]))
  const coordinator = {
    survey: () =>
      groups.map(({ groupId, offsets }) => ({ groupId, positions: offsets.length, isAtRisk: groupId === 'late' })),
    standingsNow: (groupIds: readonly string[]) => groupIds.map((id) => byId.get(id)),
  }
  const lags = {
    of: async (shown: readonly GroupStanding[]) =>
      shown.map((group) => ({ ...group, offsets: group.offsets.map((offset) => ({ ...offset, figures: null })) })),
  }
  const families = await groupMetrics(coordinator as unknown as GroupCoordinator, lags as unknown as GroupLags)
  const samplesOf = (wanted: string) => {
    const family = families.find(({ name }) => name === wanted)
    return family !== undefined && 'samples' in family ? family.samples : []
  }
  const offsets = samplesOf('kafka_consumergroup_current_offset')
  assert.ok(offsets.length <= POSITIONS_SHOWN_MAX && offsets.length > POSITIONS_SHOWN_MAX - 10, `${offsets.length}`)
  assert.equal(offsets.filter(({ labels }) => labels?.consumergroup === 'late').length, 3)
  assert.equal(samplesOf('millrace_metrics_groups_left_out')[0]?.value, 100_003 - offsets.length)
  assert.equal(samplesOf('millrace_groups_at_risk')[0]?.value, 1)
})

test('groups with names of 32 KB leave a page that a scraper can read', async () => {
  const groups = Array.from({ length: 1000 }, (_, index) => standing(`${index}`.padEnd(32_767, 'x'), 2))
  const byId = new Map(groups.map((group) => [group.groupId, group]))
  const coordinator = {
    survey: () => groups.map(({ groupId, offsets }) => ({ groupId, positions: offsets.length, isAtRisk: false })),
    standingsNow: (groupIds: readonly string[]) => groupIds.map((id) => byId.get(id)),
  }
  const figures = { lag: 1, lagMs: 1, leftMs: 1 }
  const lags = {
    of: async (shown: readonly GroupStanding[]) =>
      shown.map((group) => ({ ...group, offsets: group.offsets.map((offset) => ({ ...offset, figures })) })),
  }
  const families = await groupMetrics(coordinator as unknown as GroupCoordinator, lags as unknown as GroupLags)
  const bytes = renderMetrics(families).length
  assert.ok(bytes < 5_000_000, `${bytes}`)
})

test('quantiles lie in their bucket', () => {
  const histogram = new LatencyHistogram()
  assert.equal(quantileOf(histogram, 0.99), 0)
  for (let ms = 0; ms < 100; ms++) histogram.observe(ms < 95 ? 0.7 : 70)
  assert.ok(quantileOf(histogram, 0.5) > 0.5 && quantileOf(histogram, 0.5) <= 1)
  assert.ok(quantileOf(histogram, 0.99) > 50 && quantileOf(histogram, 0.99) <= 100)
})
