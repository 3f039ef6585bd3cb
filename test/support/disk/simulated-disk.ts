import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdirSync, openSync, readFileSync, writeFileSync, writeSync } from 'node:fs'
import { readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { endianness } from 'node:os'
import { join } from 'node:path'

const source = join(import.meta.dirname, 'shim.c')

/** Why no disk can be simulated here; undefined if it can. The shim is C for Linux, built on demand. */
export const noSimulatedDisk: string | undefined =
  process.platform !== 'linux' || endianness() !== 'LE'
    ? 'the simulated disk needs Linux'
    : spawnSync('cc', ['-fsyntax-only', source], { stdio: 'ignore' }).status !== 0
      ? 'the simulated disk needs a C compiler (cc) and the headers of glibc'
      : undefined

/** The slots of the shim's control file, in its order. */
const slots = [
  'passingLogSyncs',
  'failingLogSyncs',
  'failingDatabaseSyncs',
  'syncsUntilCut',
  'isFull',
  'hangs',
] as const
type Slot = (typeof slots)[number]

/** A power cut loses what no sync has made durable: all of it, or any of its sectors. */
type Loss = 'all' | 'torn'

type Entry = { kind: number; name: string; position: number; data: Buffer }

const kinds = { write: 1, sync: 2, truncate: 3, remove: 4 } as const
const headBytes = 20
const sectorBytes = 512

export type SimulatedDisk = Disposable & {
  /** For a process that starts on the folder now: existing content counts as durable. */
  environment(): Promise<Record<string, string>>
  /** After `passing` more syncs of the write-ahead log, this many fail. -1: all. */
  failLogSyncs(count: number, passing?: number): void
  /** This many syncs of the database file fail. -1: all. */
  failDatabaseSyncs(count: number): void
  /** The process is killed at this sync from now on, before the sync takes effect. */
  cutAtSync(count: number): void
  /** No file can grow while the disk is full. */
  setFull(isFull: boolean): void
  /** No sync returns from now on. */
  hang(): void
  /** Once the process has ended, puts into the folder what a power cut at that moment would have left. */
  loseUnsynced(loss: Loss, random: () => number): Promise<void>
}

/**
 * A disk below `folder`, for processes that are started with its environment. It covers files with `.db` in
 * their name.
 */
export function simulateDisk(folder: string): SimulatedDisk {
  const library = join(folder, 'disk.so')
  const control = join(folder, 'disk.control')
  const journal = join(folder, 'disk.journal')
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  execFileSync('cc', ['-shared', '-fPIC', '-O1', '-o', library, source, '-ldl', '-lpthread'])
  writeFileSync(control, Buffer.alloc(slots.length * 4))
  const cells = openSync(control, 'r+')
  let before = new Map<string, Buffer>()

  const set = (slot: Slot, value: number) => {
    const cell = Buffer.alloc(4)
    cell.writeInt32LE(value)
    writeSync(cells, cell, 0, 4, slots.indexOf(slot) * 4)
  }
  return {
    environment: async () => {
      before = await filesOf(folder)
      writeFileSync(journal, '')
      for (const slot of slots) set(slot, 0)
      return { LD_PRELOAD: library, DISK_FOLDER: `${folder}/`, DISK_CONTROL: control, DISK_JOURNAL: journal }
    },
    failLogSyncs: (count, passing = 0) => {
      set('passingLogSyncs', passing)
      set('failingLogSyncs', count)
    },
    failDatabaseSyncs: (count) => set('failingDatabaseSyncs', count),
    cutAtSync: (count) => set('syncsUntilCut', count),
    setFull: (isFull) => set('isFull', Number(isFull)),
    hang: () => set('hangs', 1),
    loseUnsynced: async (loss, random) => {
      const after = afterCut(
        before,
        entriesOf(readFileSync(journal)),
        loss === 'all' ? () => false : () => random() < 0.5,
      )
      for (const [name, content] of after) {
        if (content === undefined) await rm(join(folder, name), { force: true })
        else await writeFile(join(folder, name), content)
      }
      for (const name of await readdir(folder)) if (name.endsWith('-shm')) await rm(join(folder, name))
    },
    [Symbol.dispose]: () => closeSync(cells),
  }
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

async function filesOf(folder: string): Promise<Map<string, Buffer>> {
  const names = (await readdir(folder, { withFileTypes: true }))
    .filter((entry) => entry.isFile() && entry.name.includes('.db'))
    .map(({ name }) => name)
  return new Map(
    await Promise.all(names.map(async (name) => [name, await readFile(join(folder, name))] as const)),
  )
}

/** The journal of the shim; the last entry may be incomplete. */
function* entriesOf(journal: Buffer): Generator<Entry> {
  let at = 0
  while (at + headBytes <= journal.length) {
    const nameEnd = at + headBytes + journal.readUInt32LE(at + 4)
    const end = nameEnd + journal.readUInt32LE(at + 8)
    if (end > journal.length) return
    yield {
      kind: journal.readUInt32LE(at),
      position: Number(journal.readBigUInt64LE(at + 12)),
      name: journal.toString('utf8', at + headBytes, nameEnd),
      data: journal.subarray(nameEnd, end),
    }
    at = end
  }
}

/** The content of a file. It grows in steps, so that a long log is not copied at each write. */
class Content {
  #bytes: Buffer
  #length: number

  constructor(bytes: Buffer = Buffer.alloc(0)) {
    this.#bytes = bytes
    this.#length = bytes.length
  }

  bytes(): Buffer {
    return this.#bytes.subarray(0, this.#length)
  }

  apply({ kind, position, data }: Entry): void {
    const end = kind === kinds.truncate ? position : position + data.length
    if (end > this.#bytes.length)
      this.#bytes = Buffer.concat([this.bytes(), Buffer.alloc(2 * end - this.#length)])
    if (kind === kinds.truncate) this.#bytes.fill(0, Math.min(position, this.#length))
    else data.copy(this.#bytes, position)
    this.#length = kind === kinds.truncate ? end : Math.max(end, this.#length)
  }
}

/**
 * The content of each file in the journal; undefined for a file that does not exist. Everything covered by a
 * sync is there. A later written sector is there if `survives` says so; a removal takes effect at once.
 */
function afterCut(
  before: ReadonlyMap<string, Buffer>,
  entries: Iterable<Entry>,
  survives: () => boolean,
): Map<string, Buffer | undefined> {
  const durable = new Map([...before].map(([name, bytes]) => [name, new Content(bytes)]))
  const pending = new Map<string, Entry[]>()
  const sync = (name: string, waiting: readonly Entry[]) => {
    const content = durable.get(name) ?? new Content()
    for (const entry of waiting) content.apply(entry)
    durable.set(name, content)
  }
  for (const entry of entries) {
    const waiting = pending.get(entry.name) ?? []
    pending.set(entry.name, waiting)
    if (entry.kind === kinds.write || entry.kind === kinds.truncate) waiting.push(entry)
    else {
      if (entry.kind === kinds.sync) sync(entry.name, waiting)
      else durable.delete(entry.name)
      waiting.length = 0
    }
  }
  for (const [name, waiting] of pending) {
    const surviving = waiting.flatMap(sectorsOf).filter(survives)
    if (surviving.length > 0) sync(name, surviving)
  }
  return new Map([...pending.keys()].map((name) => [name, durable.get(name)?.bytes()]))
}

/** A write as the disk performs it, sector by sector. */
function sectorsOf(entry: Entry): Entry[] {
  const parts: Entry[] = []
  for (let at = 0; at < entry.data.length; ) {
    const length = Math.min(sectorBytes - ((entry.position + at) % sectorBytes), entry.data.length - at)
    parts.push({ ...entry, position: entry.position + at, data: entry.data.subarray(at, at + length) })
    at += length
  }
  return entry.kind === kinds.truncate ? [entry] : parts
}
