import { z } from 'zod'
import { type ChainHead, emptyChain, isUnchanged, type Link, linkOf, recordOf } from './chain.ts'
import { checkpointFields, isSignatureRight, type Signature } from './checkpoint.ts'

/** Why a chain is broken. docs/contract/audit.md#verification */
export type BreakReason =
  | 'changed'
  | 'removed'
  | 'reordered'
  | 'bad signature'
  | 'unknown key'
  | 'not whole'
  | 'head missing'

export type KnownKey = Omit<Signature, 'signature'>

export type ChainCounts = ReturnType<typeof noCounts>

/** One chain, as far as it has been read. */
export type CheckedChain = {
  readonly id: string
  counts: ChainCounts
  unsigned: number
  last: ChainHead | undefined
  /** The record before `last`. */
  before: ChainHead | undefined
}

export type Break = { readonly line: number; readonly reason: BreakReason }

export type CheckOptions = {
  /** Whether lines may belong to several chains, and begin in the middle of one. */
  readonly isMixed: boolean
  /** The only keys whose checkpoints are accepted. */
  readonly keys: readonly KnownKey[] | undefined
  readonly heads: readonly ChainHead[]
}

const specialRecord = z.discriminatedUnion('type', [
  z.object({ type: z.literal('chain'), event: z.string(), torn_bytes: z.number().optional() }),
  z.object({ type: z.literal('checkpoint'), time: z.string(), checkpoint: checkpointFields }),
])
type SpecialRecord = z.output<typeof specialRecord>

const specialStart = /^\{"time":"[^"]{1,40}","type":"(?:chain|checkpoint)"/
const specialStartBytes = 90
const openings: ReadonlySet<string> = new Set(['start', 'resume', 'torn'])

/** Checks the lines of audit files in order, with memory for one line. */
export class ChainCheck {
  readonly #options: CheckOptions
  readonly #chains = new Map<string, CheckedChain>()
  readonly #missingHeads: Set<string>
  #line = 0
  #break: Break | undefined
  /** A line that is allowed only directly before a record that says it is torn. */
  #torn: { readonly line: number; readonly bytes: number } | undefined
  #previous: { readonly id: string; readonly bytes: number } | undefined
  #removed: ChainHead | undefined

  constructor(options: CheckOptions) {
    this.#options = options
    this.#missingHeads = new Set(options.heads.map(nameOf))
  }

  get chains(): readonly CheckedChain[] {
    return [...this.#chains.values()]
  }

  beginFile(): void {
    this.#line = 0
    this.#previous = undefined
    for (const chain of this.#chains.values()) chain.counts = noCounts()
  }

  /** Checks the next line, without its line end; `undefined` for a line that is too long. */
  add(line: Buffer | undefined): void {
    this.#line += 1
    if (this.#break !== undefined) {
      this.#lookForRemoved(line)
      return
    }
    const link = line && linkOf(line)
    if (line === undefined || link === undefined) this.#addTorn(line?.length ?? 0)
    else this.#addLinked(line, link)
  }

  /** Ends a file; `rest` is the length of a line without line end. */
  endFile(rest: number): Break | undefined {
    if (this.#torn !== undefined) this.#breakAt(this.#torn.line, 'not whole')
    else if (rest > 0) this.#breakAt(this.#line + 1, 'not whole')
    return this.#break
  }

  endAll(): Break | undefined {
    if (this.#missingHeads.size > 0) this.#breakAt(this.#line, 'head missing')
    return this.#break
  }

  #breakAt(line: number, reason: BreakReason): void {
    this.#break ??= { line, reason }
  }

  #addTorn(bytes: number): void {
    if (this.#torn !== undefined) this.#breakAt(this.#torn.line, 'not whole')
    this.#torn = { line: this.#line, bytes }
  }

  #addLinked(line: Buffer, link: Link): void {
    if (!isUnchanged(line, link)) {
      this.#breakAt(this.#torn?.line ?? this.#line, this.#torn === undefined ? 'changed' : 'not whole')
      return
    }
    const special = specialOf(line)
    const chain = this.#chainOf(link)
    const problem =
      chain === undefined
        ? 'changed'
        : (this.#tornProblem(chain, link, special) ?? this.#problem(chain, link, special))
    if (problem !== undefined || chain === undefined) {
      const at = problem === 'not whole' ? (this.#torn?.line ?? this.#line) : this.#line
      this.#breakAt(at, problem ?? 'changed')
      return
    }
    this.#accept(chain, link, line.length, special)
  }

  #chainOf({ id }: Link): CheckedChain | undefined {
    const known = this.#chains.get(id)
    if (known !== undefined) return known
    if (this.#chains.size > 0 && !this.#options.isMixed) return undefined
    const chain: CheckedChain = { id, counts: noCounts(), unsigned: 0, last: undefined, before: undefined }
    this.#chains.set(id, chain)
    return chain
  }

  /** Matches a torn line with the record that reports it. */
  #tornProblem(chain: CheckedChain, link: Link, special: SpecialRecord | undefined): BreakReason | undefined {
    const torn = this.#torn
    const reported = special?.type === 'chain' && special.event === 'torn' ? special.torn_bytes : undefined
    if (reported === undefined) return torn === undefined ? undefined : 'not whole'
    if (torn !== undefined) return torn.bytes === reported ? undefined : 'not whole'
    // only the line end was missing, so the line was accepted
    if (this.#previous?.id !== chain.id || this.#previous.bytes !== reported) return 'removed'
    if (link.seq === chain.last?.seq) {
      chain.last = chain.before
      chain.unsigned = Math.max(0, chain.unsigned - 1)
    }
    return undefined
  }

  #problem(
    { id, last }: CheckedChain,
    link: Link,
    special: SpecialRecord | undefined,
  ): BreakReason | undefined {
    if (last === undefined) return this.#firstProblem(link, special) ?? this.#checkpointProblem(link, special)
    if (link.seq > last.seq + 1) {
      this.#removed = { id, seq: last.seq + 1, hash: last.hash }
      return 'removed'
    }
    if (link.seq <= last.seq) return 'reordered'
    if (link.prev !== last.hash) return 'changed'
    return this.#checkpointProblem(link, special)
  }

  /** Each writer begins a file with a record about the chain; a collector may split files anywhere. */
  #firstProblem(link: Link, special: SpecialRecord | undefined): BreakReason | undefined {
    const isOpening = special?.type === 'chain' && openings.has(special.event)
    if (!isOpening && (link.seq === 1 || !this.#options.isMixed)) return 'removed'
    return link.seq === 1 && link.prev !== emptyChain(link.id).hash ? 'changed' : undefined
  }

  #checkpointProblem(link: Link, special: SpecialRecord | undefined): BreakReason | undefined {
    if (special?.type !== 'checkpoint') return undefined
    const { time, checkpoint } = special
    if (checkpoint.seq !== link.seq - 1 || checkpoint.hash !== link.prev) return 'bad signature'
    if (!isSignatureRight(link.id, time, checkpoint)) return 'bad signature'
    const { keys } = this.#options
    const { key_id, public_key } = checkpoint
    return keys === undefined || keys.some((key) => key.key_id === key_id && key.public_key === public_key)
      ? undefined
      : 'unknown key'
  }

  #accept(chain: CheckedChain, link: Link, bytes: number, special: SpecialRecord | undefined): void {
    const { counts } = chain
    counts.lines += this.#torn === undefined ? 1 : 2
    this.#torn = undefined
    counts.firstSeq ||= link.seq
    counts.lastSeq = link.seq
    if (special?.type === 'checkpoint') counts.checkpoints += 1
    if (special?.type === 'chain' && special.event === 'torn') counts.torn += 1
    if (special?.type === 'chain' && special.event === 'gap') counts.gaps += 1
    chain.unsigned = special?.type === 'checkpoint' ? 0 : chain.unsigned + 1
    chain.before = chain.last
    chain.last = { id: link.id, seq: link.seq, hash: link.hash }
    this.#previous = { id: link.id, bytes }
    this.#missingHeads.delete(nameOf(link))
  }

  /** A missing record that comes later was moved. */
  #lookForRemoved(line: Buffer | undefined): void {
    const removed = this.#removed
    const link = line && linkOf(line)
    if (line === undefined || link === undefined) return
    if (removed === undefined || this.#break === undefined) return
    const isFound = link.id === removed.id && link.seq === removed.seq && link.prev === removed.hash
    if (isFound && isUnchanged(line, link)) this.#break = { line: this.#break.line, reason: 'reordered' }
  }
}

const nameOf = ({ id, seq, hash }: ChainHead): string => `${id}:${seq}:${hash}`

const noCounts = () => ({ lines: 0, firstSeq: 0, lastSeq: 0, checkpoints: 0, torn: 0, gaps: 0 })

/** A record about the chain; undefined for an audit entry. */
function specialOf(line: Buffer): SpecialRecord | undefined {
  if (!specialStart.test(line.toString('latin1', 0, specialStartBytes))) return undefined
  try {
    return specialRecord.safeParse(JSON.parse(recordOf(line).toString())).data
  } catch {
    // not JSON: the writer never wrote it
    return undefined
  }
}
