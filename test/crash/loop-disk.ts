import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync } from 'node:fs'
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

  static async create(directory: string, megabytes: number): Promise<LoopDisk> {
    const disk = new LoopDisk(directory)
    mkdirSync(disk.mountPoint)
    await runOrFail('truncate', ['-s', `${megabytes}M`, disk.#image])
    await runOrFail('mkfs.ext4', ['-q', '-F', '-E', 'lazy_itable_init=0,lazy_journal_init=0', disk.#image])
    atExit('mounts', () => disk.#unmountNow())
    await disk.#mount()
    return disk
  }

  get #image(): string {
    return join(this.#directory, `image-${this.#generation}`)
  }

  async #mount(): Promise<void> {
    await runOrFail('mount', ['-o', 'loop,commit=300,noatime', this.#image, this.mountPoint])
  }

  /**
   * Takes the picture that a power cut would leave and puts it in the place of the disk. `pid` writes to the disk: it is
   * stopped first and must be killed in `killed`.
   */
  async cutPower(pid: number, killed: () => Promise<void>): Promise<void> {
    process.kill(pid, 'SIGSTOP')
    while (!allStopped(pid)) await new Promise((resolve) => setTimeout(resolve, 1))
    const before = this.#image
    this.#generation++
    await runOrFail('cp', ['--sparse=always', before, this.#image])
    await killed()
    await runOrFail('umount', [this.mountPoint])
    rmSync(before)
    await this.#mount()
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
