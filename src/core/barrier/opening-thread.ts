import { Buffer } from 'node:buffer'
import { Worker } from 'node:worker_threads'
import { mayBlock } from '../../lib/system/end-process.ts'
import type { StoredRecord } from '../../storage/storage.ts'
import type { OpenedPage, PackedRecords, PagePlace, SealedPage } from './opening-worker.ts'

/** A thread that is not needed for so long ends, because it takes ten megabytes. */
const idleMs = 10_000
/** Ciphers are garbage at once. */
const youngMegabytes = 4

type Thread = {
  readonly worker: Worker
  readonly idle: NodeJS.Timeout
  /** Of the calls that wait, in the order in which the thread answers. */
  readonly answers: ((opened: OpenedPage) => void)[]
}

/**
 * A thread that reads and decrypts the records of long lists (opening-worker.ts). A million of them would keep the main
 * thread busy for ten seconds, and the garbage of their ciphers would stop it for 20 ms at a time.
 */
export class OpeningThread {
  #thread: Thread | undefined
  /** It ended by itself, and is not replaced: another one might end too. */
  #isBroken = false

  /**
   * A page of records, opened; undefined if they must be opened elsewhere, one by one, because one cannot be opened, or
   * because the thread has ended. The keys are copied.
   */
  async open(
    page: PagePlace | readonly StoredRecord[],
    keys: ReadonlyMap<number, Uint8Array>,
  ): Promise<OpenedPage> {
    if (this.#isBroken) return undefined
    const thread = this.#thread ?? this.#start()
    const copies = new Map([...keys].map(([term, key]) => [term, new Uint8Array(key)]))
    const packed = 'file' in page ? page : packedOf(page)
    const moved = [...copies.values(), ...('bytes' in packed ? [packed.bytes] : [])]
    const opened = await new Promise<OpenedPage>((resolve) => {
      thread.answers.push(resolve)
      thread.worker.postMessage(
        { ...packed, keys: copies } satisfies SealedPage,
        moved.map(({ buffer }) => buffer),
      )
    })
    thread.idle.refresh()
    return opened
  }

  #start(): Thread {
    const worker = new Worker(new URL('./opening-worker.ts', import.meta.url), {
      name: 'lists',
      resourceLimits: { maxYoungGenerationSizeMb: youngMegabytes },
    })
    mayBlock(worker)
    const idle = setTimeout(() => this.#end(thread), idleMs).unref()
    const thread: Thread = { worker, idle, answers: [] }
    worker.on('message', (opened: OpenedPage) => thread.answers.shift()?.(opened))
    // after the listener, which would keep the process again
    worker.unref()
    for (const failure of ['error', 'messageerror'])
      worker.on(failure, () => {
        this.#isBroken = true
        this.#end(thread)
      })
    worker.on('exit', () => this.#end(thread))
    this.#thread = thread
    return thread
  }

  #end(thread: Thread): void {
    if (this.#thread === thread) this.#thread = undefined
    clearTimeout(thread.idle)
    for (const answer of thread.answers.splice(0)) answer(undefined)
    void thread.worker.terminate()
  }
}

/** The servers of a process share it. */
export const openingThread = new OpeningThread()

function packedOf(records: readonly StoredRecord[]): PackedRecords {
  const lengths = records.flatMap(({ key, value }) => [Buffer.byteLength(key), value.length])
  const bytes = new Uint8Array(lengths.reduce((sum, length) => sum + length, 0))
  const buffer = Buffer.from(bytes.buffer)
  let at = 0
  for (const { key, value } of records) {
    at += buffer.write(key, at)
    bytes.set(value, at)
    at += value.length
  }
  return { bytes, lengths }
}
