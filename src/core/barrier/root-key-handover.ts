import { Buffer } from 'node:buffer'
import type { Random } from '../../lib/system/random.ts'
import type { Term } from './keyring-record.ts'
import { openKeys, sealValue } from './sealed-value.ts'

/**
 * Key of the root key, encrypted with each data key, for servers that share the storage: they learn from it
 * what another one has put in place of theirs. In clear text are only the terms. docs/replicas.md#keys
 */
export const handOverKey = 'barrier/root-key-handover'

/** By term, in base64. */
type HandOver = { readonly [term: string]: string }

/** Counts as one encryption with each data key. */
export function sealHandOver(rootKey: Uint8Array, terms: readonly Term[], random: Random): Buffer {
  const copies = terms.map((one) => {
    one.reserved += 1
    const sealed = sealValue({ term: one.term, key: one.key, random }, handOverKey, rootKey)
    return [one.term, sealed.toString('base64')]
  })
  return Buffer.from(JSON.stringify(Object.fromEntries(copies)))
}

/** The root key, for a server that knows one of these terms. The caller must wipe it. */
export function openHandOver(value: Uint8Array, terms: readonly Term[]): Buffer | undefined {
  const copies = read(value)
  const known = terms.findLast(({ term }) => copies[term] !== undefined)
  if (known === undefined) return undefined
  return openKeys(known.key, handOverKey, Buffer.from(copies[known.term] ?? '', 'base64'))
}

/** Without the copies for other terms. */
export function keepHandOver(value: Uint8Array, terms: readonly Term[]): Buffer {
  const kept = new Set(terms.map(({ term }) => String(term)))
  const copies = Object.entries(read(value)).filter(([term]) => kept.has(term))
  return Buffer.from(JSON.stringify(Object.fromEntries(copies)))
}

// `sealHandOver` is all that writes it
const read = (value: Uint8Array): HandOver => JSON.parse(Buffer.from(value).toString('utf8')) as HandOver
