type Key = string | number

interface Entry<K, V> {
  readonly hash: number
  readonly key: K
  readonly value: V
}

/** All entries with one full hash; nearly always one. */
interface Bucket<K, V> {
  readonly kind: 'bucket'
  readonly hash: number
  readonly entries: readonly Entry<K, V>[]
}

/** Up to 32 children, those present marked in `bitmap`, in the order of their bits. */
interface Branch<K, V> {
  readonly kind: 'branch'
  readonly bitmap: number
  readonly children: readonly Node<K, V>[]
}

type Node<K, V> = Bucket<K, V> | Branch<K, V>

/**
 * An immutable map (a hash array mapped trie, Bagwell 2001): `set` and `delete` return a new map that shares all but a
 * path of about log32(size) small arrays with the old one, so an image of 10^5 topics is copied in microseconds.
 * The order of iteration is that of the hashes: the same on every machine for equal contents, but of no meaning.
 */
export class PersistentMap<K extends Key, V> implements Iterable<[K, V]> {
  static readonly #empty = new PersistentMap<never, never>(null, 0)
  readonly #root: Node<K, V> | null
  readonly size: number

  private constructor(root: Node<K, V> | null, size: number) {
    this.#root = root
    this.size = size
  }

  static empty<K extends Key, V>(): PersistentMap<K, V> {
    return PersistentMap.#empty as unknown as PersistentMap<K, V>
  }

  get(key: K): V | undefined {
    return this.#find(key, hashOf(key))
  }

  #find(key: K, hash: number): V | undefined {
    let node = this.#root
    for (let shift = 0; node !== null; shift += 5) {
      if (node.kind === 'bucket') {
        return node.hash === hash ? node.entries.find((entry) => entry.key === key)?.value : undefined
      }
      const bit = 1 << ((hash >>> shift) & 31)
      if ((node.bitmap & bit) === 0) return undefined
      node = node.children[countBits(node.bitmap & (bit - 1))] as Node<K, V>
    }
    return undefined
  }

  has(key: K): boolean {
    return this.get(key) !== undefined
  }

  /** The same map when `key` already has this very `value`. */
  set(key: K, value: V): PersistentMap<K, V> {
    const hash = hashOf(key)
    const old = this.#find(key, hash)
    if (old === value) return this
    const entry = { hash, key, value }
    const root = this.#root === null ? bucketOf(entry) : put(this.#root, entry, 0)
    return new PersistentMap(root, old === undefined ? this.size + 1 : this.size)
  }

  delete(key: K): PersistentMap<K, V> {
    const hash = hashOf(key)
    if (this.#root === null || this.#find(key, hash) === undefined) return this
    return new PersistentMap(remove(this.#root, hash, key, 0), this.size - 1)
  }

  *[Symbol.iterator](): IterableIterator<[K, V]> {
    for (const { key, value } of this.#root === null ? [] : entriesOf(this.#root)) yield [key, value]
  }

  *keys(): IterableIterator<K> {
    for (const [key] of this) yield key
  }

  *values(): IterableIterator<V> {
    for (const [, value] of this) yield value
  }

  /** Values in the order of their keys: for everything that is shown or written. */
  sorted(): V[] {
    return [...this].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
  }
}

function bucketOf<K, V>(entry: Entry<K, V>): Bucket<K, V> {
  return { kind: 'bucket', hash: entry.hash, entries: [entry] }
}

function put<K, V>(node: Node<K, V>, entry: Entry<K, V>, shift: number): Node<K, V> {
  if (node.kind === 'bucket') {
    if (node.hash === entry.hash) {
      const others = node.entries.filter(({ key }) => key !== entry.key)
      return { kind: 'bucket', hash: node.hash, entries: [...others, entry] }
    }
    const branch: Branch<K, V> = { kind: 'branch', bitmap: 1 << ((node.hash >>> shift) & 31), children: [node] }
    return put(branch, entry, shift)
  }
  const bit = 1 << ((entry.hash >>> shift) & 31)
  const at = countBits(node.bitmap & (bit - 1))
  if ((node.bitmap & bit) === 0) {
    return { kind: 'branch', bitmap: node.bitmap | bit, children: node.children.toSpliced(at, 0, bucketOf(entry)) }
  }
  const child = put(node.children[at] as Node<K, V>, entry, shift + 5)
  return { kind: 'branch', bitmap: node.bitmap, children: node.children.with(at, child) }
}

/** `key` is present below `node`. A branch left with one bucket becomes that bucket, so equal contents have equal tries. */
function remove<K, V>(node: Node<K, V>, hash: number, key: K, shift: number): Node<K, V> | null {
  if (node.kind === 'bucket') {
    if (node.entries.length === 1) return null
    return { kind: 'bucket', hash, entries: node.entries.filter((entry) => entry.key !== key) }
  }
  const bit = 1 << ((hash >>> shift) & 31)
  const at = countBits(node.bitmap & (bit - 1))
  const child = remove(node.children[at] as Node<K, V>, hash, key, shift + 5)
  const children = child === null ? node.children.toSpliced(at, 1) : node.children.with(at, child)
  const only = children.length === 1 ? (children[0] as Node<K, V>) : null
  if (children.length === 0) return null
  if (only?.kind === 'bucket') return only
  return { kind: 'branch', bitmap: child === null ? node.bitmap & ~bit : node.bitmap, children }
}

function* entriesOf<K, V>(node: Node<K, V>): IterableIterator<Entry<K, V>> {
  if (node.kind === 'bucket') {
    yield* node.entries
    return
  }
  for (const child of node.children) yield* entriesOf(child)
}

function countBits(word: number): number {
  let bits = word - ((word >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

/** FNV-1a over the UTF-16 units, or the number itself, through the finaliser of MurmurHash3. */
function hashOf(key: Key): number {
  let hash = 0x811c9dc5
  if (typeof key === 'number') hash = key | 0
  else for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193)
  hash ^= hash >>> 16
  hash = Math.imul(hash, 0x85ebca6b)
  hash ^= hash >>> 13
  hash = Math.imul(hash, 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
