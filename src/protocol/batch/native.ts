import { createRequire } from 'node:module'

/**
 * Native codecs, loaded when a batch first needs them: each takes a library into the process, with threads of its own,
 * and most nodes never see more than one codec.
 */

const load = createRequire(import.meta.url)
let lz4Module: typeof import('lz4-napi') | null = null
let snappyModule: typeof import('snappy') | null = null

export function lz4(): typeof import('lz4-napi') {
  lz4Module ??= load('lz4-napi') as typeof import('lz4-napi')
  return lz4Module
}

export function snappy(): typeof import('snappy') {
  snappyModule ??= load('snappy') as typeof import('snappy')
  return snappyModule
}
