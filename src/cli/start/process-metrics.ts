import { readdirSync, readFileSync } from 'node:fs'
import { type EventLoopUtilization, performance } from 'node:perf_hooks'
import type { Family } from '../../server/metrics/family.ts'
import { single } from '../../server/metrics/table.ts'

/** What the operating system and the runtime say of this process. What this system does not have is left out. */
export class ProcessMetrics {
  #before: EventLoopUtilization = performance.eventLoopUtilization()

  /** Since it was asked last. */
  #idle(): number {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, this.#before)
    this.#before = now
    return 1 - utilization
  }

  *families(): Generator<Family> {
    const { user, system } = process.cpuUsage()
    yield single('process_cpu_seconds_total', (user + system) / 1e6)
    yield single('process_resident_memory_bytes', process.memoryUsage.rss())
    yield single('process_start_time_seconds', performance.timeOrigin / 1000)
    const openFiles = attempt(() => readdirSync('/proc/self/fd').length)
    if (openFiles !== null) yield single('process_open_fds', openFiles)
    const idle = this.#idle()
    yield single('millrace_event_loop_idle_ratio', idle)
    yield single('kafka_network_socketserver_networkprocessoravgidle_percent', idle)
    yield single('kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent', idle)
    const io = attempt(() => readFileSync('/proc/self/io', 'latin1'))
    if (io === null) return
    yield single('kafka_server_kafkaserver_linux_disk_read_bytes', Number(/^read_bytes: (\d+)/m.exec(io)?.[1] ?? 0))
    yield single('kafka_server_kafkaserver_linux_disk_write_bytes', Number(/^write_bytes: (\d+)/m.exec(io)?.[1] ?? 0))
  }
}

function attempt<T>(read: () => T): T | null {
  try {
    return read()
  } catch {
    return null
  }
}
