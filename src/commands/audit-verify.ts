import { createReadStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { z } from 'zod'
import type { ChainHead } from '../core/audit/chain.ts'
import { type Break, ChainCheck, type ChainCounts, type KnownKey } from '../core/audit/chain-check.ts'
import { systemReason } from '../lib/system/private-file.ts'
import { parsedJson } from '../lib/text/json.ts'
import { LineSplitter } from '../lib/text/line-splitter.ts'
import { type Command, CommandError, parsedArguments, UsageError } from './command.ts'

/** Much more than the largest entry. */
const maxLineBytes = 256 * 1024 * 1024
const chunkBytes = 1024 * 1024

/** What one file holds of one chain. `id` is undefined if the file has no line of a chain. */
type ChainReport = ChainCounts & { readonly id: string | undefined; readonly unsigned: number }
type FileReport = {
  readonly file: string
  readonly chains: readonly ChainReport[]
  broken: Break | undefined
}

const keyList = z.object({ keys: z.array(z.object({ key_id: z.string(), public_key: z.string() })) })

const emptyReport: ChainReport = {
  id: undefined,
  lines: 0,
  firstSeq: 0,
  lastSeq: 0,
  checkpoints: 0,
  unsigned: 0,
  torn: 0,
  gaps: 0,
}

/**
 * `gatehouse audit-verify` checks the chain of audit files, which it reads in the given order.
 * docs/contract/audit.md#verification
 */
export const auditVerify: Command = async (args) => {
  const { files, keys, heads, isMixed, isJson } = readArguments(args)
  const check = new ChainCheck({
    isMixed,
    keys: keys === undefined ? undefined : await readKeys(keys),
    heads,
  })
  const reports: FileReport[] = []
  for (const file of files) {
    const report = await verifyFile(file, check)
    reports.push(report)
    if (reports.length === files.length) report.broken ??= check.endAll()
    if (!isJson) process.stdout.write(textOf(report, isMixed))
    if (report.broken !== undefined) break
  }
  const isIntact = reports.every(({ broken }) => broken === undefined)
  if (isJson) process.stdout.write(`${JSON.stringify({ intact: isIntact, files: reports.map(jsonOf) })}\n`)
  if (!isIntact) process.exitCode = 1
}

function readArguments(args: string[]) {
  const { values, positionals } = parsedArguments({
    args,
    allowPositionals: true,
    options: {
      keys: { type: 'string' },
      head: { type: 'string', multiple: true, default: [] },
      mixed: { type: 'boolean', default: false },
      json: { type: 'boolean', default: false },
    },
  })
  if (positionals.length === 0) throw new UsageError()
  const heads = values.head.map(readHead)
  return { files: positionals, keys: values.keys, heads, isMixed: values.mixed, isJson: values.json }
}

function readHead(text: string): ChainHead {
  const [, id = '', seq = '', hash] = /^([0-9a-f]{32}):([1-9][0-9]{0,15}):([0-9a-f]{64})$/.exec(text) ?? []
  if (hash === undefined) throw new UsageError('--head: not ID:SEQ:HASH')
  return { id, seq: Number(seq), hash }
}

/** Reads a response of `GET sys/audit-chain`, or its `data`. */
async function readKeys(file: string): Promise<KnownKey[]> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new CommandError(`cannot read ${file}: ${systemReason(cause)}`, { cause })
  })
  const found = z.union([keyList, z.object({ data: keyList }).transform(({ data }) => data)])
  const { data } = found.safeParse(parsedJson(text))
  if (data === undefined) throw new UsageError(`${file} is not a response of sys/audit-chain`)
  return data.keys
}

async function verifyFile(file: string, check: ChainCheck): Promise<FileReport> {
  check.beginFile()
  const splitter = new LineSplitter(maxLineBytes, (line) => check.add(line))
  try {
    for await (const chunk of createReadStream(file, { highWaterMark: chunkBytes })) splitter.add(chunk)
  } catch (cause) {
    throw new CommandError(`cannot read ${file}: ${systemReason(cause)}`, { cause })
  }
  const broken = check.endFile(splitter.rest)
  const chains = check.chains.filter(({ counts }) => counts.lines > 0)
  return { file, broken, chains: chains.map(({ id, counts, unsigned }) => ({ id, ...counts, unsigned })) }
}

function textOf({ file, chains, broken }: FileReport, isMixed: boolean): string {
  const reports = chains.length === 0 ? [emptyReport] : chains
  const lines = reports.map(
    (chain) => `${isMixed && chain.id ? `${file} ${chain.id}` : file}: ${countsOf(chain)}`,
  )
  const verdict = broken === undefined ? 'intact' : `broken at line ${broken.line}: ${broken.reason}`
  return [...lines, verdict, ''].join('\n')
}

function countsOf(chain: ChainReport): string {
  const { lines, firstSeq, lastSeq, checkpoints, unsigned, torn, gaps } = chain
  const size = `lines ${lines}, first seq ${firstSeq}, last seq ${lastSeq}`
  return `${size}, check points ${checkpoints}, unsigned tail ${unsigned}, torn ${torn}, gaps ${gaps}`
}

function jsonOf({ file, chains, broken }: FileReport) {
  const listed = chains.map(({ id, lines, firstSeq, lastSeq, checkpoints, unsigned, torn, gaps }) => ({
    id,
    lines,
    first_seq: firstSeq,
    last_seq: lastSeq,
    checkpoints,
    unsigned_tail: unsigned,
    torn,
    gaps,
  }))
  return { file, chains: listed, broken: broken ?? null }
}
