import { randomBytes } from 'node:crypto'
import { answerFromThread } from '../../lib/concurrency/thread-worker.ts'
import { systemCode } from '../../lib/system/private-file.ts'
import { AuditFaults } from './audit-faults.ts'
import { type ChainHead, chained, emptyChain } from './chain.ts'
import { chainRecord, type ResumeReason } from './chain-records.ts'
import { FileSink } from './file-sink.ts'
import { HttpSink } from './http-sink.ts'
import { type Sink, type SinkEnd, SinkError, type SinkTarget } from './sink.ts'
import { StdoutSink } from './stdout-sink.ts'

export type WorkerData = {
  readonly target: SinkTarget
  readonly syncsAlways: boolean
  /** The last stored position; `isFinal` if the chain was closed there. */
  readonly stored: (ChainHead & { readonly isFinal: boolean }) | undefined
  readonly deadlineMs: number
  readonly faults: SharedArrayBuffer | undefined
}

/** What the thread does next, in this order. */
export type WorkerRequest = {
  /** For the records that the thread itself writes. */
  readonly time: string
  /** Whether to look for the file at its path, and to sync what was written before. */
  readonly isCheck: boolean
  /** Written only if `seq` is still the last record. */
  readonly checkpoint: { readonly seq: number; readonly record: string } | undefined
  /** Records, each followed by a line end. */
  readonly records: string
  readonly isSynced: boolean
  readonly end: 'reopen' | 'close' | undefined
}

export type WorkerReply = {
  readonly written: number
  readonly checkpoint: ChainHead | undefined
  /** The last record; undefined if that is unknown. */
  readonly head: ChainHead | undefined
  readonly failure: { readonly code: string; readonly message: string } | undefined
}

/** Writes the records of one device in order. Its requests run one after the other. */
class ChainWriter {
  readonly #data: WorkerData
  readonly #sink: Sink
  #head: ChainHead | undefined
  #isOpen = false
  #wasOpened = false
  /** Text and records that come before the next record. */
  #preamble: { needsLineEnd: boolean; records: string[] } = { needsLineEnd: false, records: [] }
  #isDirty = false
  #syncing: Promise<void> | undefined
  #syncFailure: unknown

  constructor(data: WorkerData) {
    this.#data = data
    this.#sink = openSink(data)
    this.#head = data.stored
  }

  async run(request: WorkerRequest): Promise<WorkerReply> {
    const count: Count = { written: 0, checkpoint: undefined }
    try {
      await this.#write(request, count)
      return { ...count, head: this.#head, failure: undefined }
    } catch (cause) {
      await this.#close()
      const code = cause instanceof SinkError ? cause.code : systemCode(cause)
      const message = cause instanceof Error ? cause.message : ''
      return { ...count, head: this.#head, failure: { code, message } }
    }
  }

  async #write(request: WorkerRequest, count: Count): Promise<void> {
    await this.#checkOpened(request)
    if (!this.#isOpen) this.#open(request.time, undefined)
    const { checkpoint } = request
    const records = request.records === '' ? [] : request.records.split('\n')
    const isNext = checkpoint?.seq === this.#head?.seq && this.#preamble.records.length === 0
    if (checkpoint !== undefined && isNext) {
      await this.#append([checkpoint.record])
      count.checkpoint = this.#head
    }
    await this.#append(records, count)
    if (this.#data.syncsAlways || request.isSynced) await this.#sync()
    else if (request.isCheck) this.#syncSoon()
    if (request.end !== undefined) await this.#close()
    if (request.end !== 'reopen') return
    this.#open(request.time, 'reopened')
    await this.#append([])
  }

  async #checkOpened({ isCheck }: WorkerRequest): Promise<void> {
    this.#throwSyncFailure()
    if (!isCheck || !this.#isOpen || this.#sink.isReplaced?.() !== true) return
    await this.#sync()
    await this.#close()
  }

  /** Finds the position to continue from. docs/contract/audit.md#where-a-writer-continues */
  #open(time: string, reason: ResumeReason | undefined): void {
    const end = this.#sink.open()
    this.#isOpen = true
    const isFirst = !this.#wasOpened
    this.#wasOpened = true
    const isLost = isFirst && !this.#sink.isReadable && this.#data.stored?.isFinal === false
    const last = isLost ? undefined : later(this.#head, end.head)
    this.#head = last ?? emptyChain(randomBytes(16).toString('hex'))
    const event =
      last === undefined
        ? ({ event: 'start' } as const)
        : ({ event: 'resume', reason: reason ?? reasonOf(end, isFirst) } as const)
    const { torn } = end
    const tornRecord = torn && [chainRecord(time, { event: 'torn', torn_bytes: torn.bytes })]
    const records = [...(tornRecord ?? []), chainRecord(time, event)]
    this.#preamble = { needsLineEnd: torn?.isEnded === false, records }
  }

  async #append(records: readonly string[], count: { written: number } = { written: 0 }): Promise<void> {
    const { needsLineEnd, records: first } = this.#preamble
    const all = [...first, ...records]
    let head = this.#head
    if (all.length === 0 || head === undefined) return
    const heads: ChainHead[] = []
    const lines: string[] = []
    for (const record of all) {
      const next = chained(record, head)
      head = next.head
      heads.push(head)
      lines.push(`${next.line}\n`)
    }
    if (needsLineEnd) lines[0] = `\n${lines[0]}`
    const wrote = (complete: number) => {
      this.#head = heads[complete - 1] ?? this.#head
      count.written = Math.max(0, complete - first.length)
    }
    try {
      await this.#sink.write(lines)
    } catch (cause) {
      if (cause instanceof SinkError) this.#failed(cause, wrote, needsLineEnd)
      throw cause
    }
    this.#preamble = { needsLineEnd: false, records: [] }
    this.#isDirty = true
    wrote(all.length)
  }

  #failed({ written, isUncertain }: SinkError, wrote: (complete: number) => void, hasLineEnd: boolean): void {
    wrote(hasLineEnd ? Math.max(0, written - 1) : written)
    // the next record could repeat the position of one that has arrived
    if (isUncertain) this.#head = undefined
  }

  async #sync(): Promise<void> {
    await this.#syncing
    this.#throwSyncFailure()
    if (!this.#isDirty) return
    await this.#sink.sync()
    this.#isDirty = false
  }

  #throwSyncFailure(): void {
    const failure = this.#syncFailure
    this.#syncFailure = undefined
    if (failure !== undefined) throw failure
  }

  /** Syncs without delaying the next records. */
  #syncSoon(): void {
    if (!this.#isDirty || this.#syncing !== undefined) return
    this.#isDirty = false
    this.#syncing = this.#sink
      .sync()
      .catch((cause: unknown) => {
        this.#syncFailure = cause
      })
      .finally(() => {
        this.#syncing = undefined
      })
  }

  async #close(): Promise<void> {
    if (!this.#isOpen) return
    this.#isOpen = false
    await this.#syncing
    this.#sink.close()
  }
}

type Count = { written: number; checkpoint: ChainHead | undefined }

/** Accepts every line and keeps none. */
const discardSink: Sink = {
  isReadable: false,
  open: () => ({ isNew: false }),
  write: async () => {},
  sync: async () => {},
  close: () => {},
}

function openSink({ target, deadlineMs, faults: shared }: WorkerData): Sink {
  const faults = shared === undefined ? undefined : new AuditFaults(shared)
  if (target.kind === 'file') return new FileSink(target, faults)
  if (target.kind === 'stdout') return new StdoutSink(faults)
  return target.kind === 'http' ? new HttpSink(target, deadlineMs) : discardSink
}

/** What was read counts only if it belongs to the known chain, or if none is known. */
function later(known: ChainHead | undefined, found: ChainHead | undefined): ChainHead | undefined {
  if (known === undefined) return found
  return found !== undefined && found.id === known.id && found.seq > known.seq ? found : known
}

function reasonOf({ isNew }: SinkEnd, isFirst: boolean): ResumeReason {
  if (isNew) return 'file_missing'
  return isFirst ? 'restart' : 'reopened'
}

const answersWith = (data: WorkerData) => {
  const writer = new ChainWriter(data)
  return { run: (request: WorkerRequest) => writer.run(request) }
}

export type DeviceAnswers = ReturnType<typeof answersWith>

answerFromThread(answersWith)
