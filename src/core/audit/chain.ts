import { createHash, hash } from 'node:crypto'

/** The last record of a chain. A chain without records has `seq` 0. docs/contract/audit.md#the-chain */
export type ChainHead = { readonly id: string; readonly seq: number; readonly hash: string }

export type Link = ChainHead & { readonly prev: string }

export const emptyChain = (id: string): ChainHead => ({ id, seq: 0, hash: '0'.repeat(64) })

const memberStart = ',"chain":'
const memberForm =
  /^,"chain":\{"id":"([0-9a-f]{32})","seq":([1-9][0-9]{0,15}),"prev":"([0-9a-f]{64})","hash":"([0-9a-f]{64})"\}\}$/
export const maxMemberBytes = 240

/** Appends `record`, the text of a JSON object, to the chain. The line has no line end. */
export function chained(record: string, last: ChainHead): { line: string; head: ChainHead } {
  const seq = last.seq + 1
  const own = hash('sha256', `${hashedBefore(last.id, seq, last.hash)}${record}`, 'hex')
  const member = `{"id":"${last.id}","seq":${seq},"prev":"${last.hash}","hash":"${own}"}`
  return { line: `${record.slice(0, -1)}${memberStart}${member}}`, head: { id: last.id, seq, hash: own } }
}

/** The member at the end of a line, or of its last `maxMemberBytes`; undefined if it has another form. */
export function linkOf(line: Buffer): Link | undefined {
  const at = line.lastIndexOf(memberStart)
  const found = at < 0 ? null : memberForm.exec(line.toString('latin1', at, at + maxMemberBytes + 1))
  if (found === null) return undefined
  const [, id = '', seq = '', prev = '', own = ''] = found
  return { id, seq: Number(seq), prev, hash: own }
}

/** The line's record, without the chain member; `line` must have one. */
export const recordOf = (line: Buffer): Buffer =>
  Buffer.concat([line.subarray(0, line.lastIndexOf(memberStart)), closingBrace])

export const isUnchanged = (line: Buffer, { id, seq, prev, hash: own }: Link): boolean =>
  createHash('sha256')
    .update(hashedBefore(id, seq, prev))
    .update(line.subarray(0, line.lastIndexOf(memberStart)))
    .update(closingBrace)
    .digest('hex') === own

const closingBrace = Buffer.from('}')

const hashedBefore = (id: string, seq: number, prev: string) => `gatehouse-audit-1\n${id}\n${seq}\n${prev}\n`
