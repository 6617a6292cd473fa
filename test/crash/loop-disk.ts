import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { join } from 'node:path'
import { atExit } from '../support/at-exit.ts'
import { runOrFail } from '../support/process.ts'

const wait = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/**
 * An ext4 file system in an image file, whose power can be cut: a copy of the image, made while it is mounted, holds
 * what was synced and nothing that only sat in the page cache of the mount. `commit=300` keeps the file system from
 * syncing by itself. The process that writes is stopped while the copy is made, so that it is of one instant.
 */
export class LoopDisk {
  readonly mountPoint: string
  #directory: string
  #generation = 0

  private constructor(directory: string) {
    this.#directory = directory
    this.mountPoint = join(directory, 'mount')
  }

  /** `directory` is made when it is not there. */
  static async create(directory: string, megabytes: number): Promise<LoopDisk> {
    const disk = new LoopDisk(directory)
    mkdirSync(disk.mountPoint, { recursive: true })
    await runOrFail('truncate', ['-s', `${megabytes}M`, disk.#image])
    await runOrFail('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', disk.#image])
    atExit('mounts', () => disk.#unmountNow())
    await disk.#mount()
    return disk
  }

  get #image(): string {
    return this.#imageOf(this.#generation)
  }

  #imageOf(generation: number): string {
    return join(this.#directory, `image-${generation}`)
  }

  async #mount(): Promise<void> {
    await runOrFail('mount', ['-o', 'loop,commit=300,noatime', this.#image, this.mountPoint])
  }

  /** Copies what the disk would hold after a power cut now. */
  async #picture(): Promise<void> {
    await runOrFail('cp', ['--sparse=always', this.#image, this.#imageOf(this.#generation + 1)])
  }

  /** Puts the picture in the place of the disk; nobody may use it. */
  async #restore(): Promise<void> {
    await runOrFail('umount', [this.mountPoint])
    rmSync(this.#image)
    this.#generation++
    await this.#mount()
  }

  /** Cuts the power of all these machines in one instant. Their processes are stopped meanwhile, and killed by `killAll`. */
  static async cutPower(
    machines: readonly { disk: LoopDisk; pid: number }[],
    killAll: () => Promise<void>,
  ): Promise<void> {
    for (const { pid } of machines) process.kill(pid, 'SIGSTOP')
    while (!machines.every(({ pid }) => allStopped(pid))) await new Promise((resolve) => setTimeout(resolve, 1))
    for (const { disk } of machines) await disk.#picture()
    await killAll()
    for (const { disk } of machines) await disk.#restore()
  }

  /** Takes all the room that is left; what it returns gives it back. */
  fill(): () => void {
    const file = join(this.mountPoint, 'filler')
    const { bavail, bsize } = statfsSync(this.mountPoint)
    // Root may use the blocks that others may not, so what is left is written until nothing more fits.
    spawnSync('fallocate', ['-l', String(bavail * bsize), file])
    spawnSync('dd', ['if=/dev/zero', `of=${file}`, 'bs=64k', 'oflag=append', 'conv=notrunc'], { stdio: 'ignore' })
    return () => rmSync(file, { force: true })
  }

  #unmountNow(): void {
    for (let attempt = 0; attempt < 50 && this.#isMounted; attempt++) {
      try {
        execFileSync('umount', [this.mountPoint], { stdio: 'ignore' })
      } catch {
        wait(100) // whoever was killed a moment ago still holds it
      }
    }
    // Else a recursive removal of the directory would empty the disk through the mount.
    if (this.#isMounted) execFileSync('umount', ['-l', this.mountPoint], { stdio: 'ignore' })
  }

  get #isMounted(): boolean {
    return existsSync('/proc/mounts') && readFileSync('/proc/mounts', 'utf8').includes(` ${this.mountPoint} `)
  }
}

/** No thread of the process runs any more; one that waits for the disk finishes that first. */
function allStopped(pid: number): boolean {
  return readdirSync(`/proc/${pid}/task`).every((thread) => {
    const stat = readFileSync(`/proc/${pid}/task/${thread}/stat`, 'utf8')
    return 'TtZX'.includes(stat[stat.lastIndexOf(')') + 2] ?? '')
  })
}
