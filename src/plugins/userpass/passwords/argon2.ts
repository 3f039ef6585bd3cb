import { argon2Sync, timingSafeEqual } from 'node:crypto'
import type { Random } from '../../../lib/system/random.ts'

/** The work of a hash: memory in KiB, and passes over it. */
export type Argon2Cost = { readonly memory: number; readonly passes: number }

/** OWASP's first choice for Argon2id with one lane. docs/contract/userpass.md#passwords */
export const productCost: Argon2Cost = { memory: 19_456, passes: 2 }

const saltBytes = 16
const tagBytes = 32
const phcForm = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=1\$([A-Za-z0-9+/]{22})\$([A-Za-z0-9+/]{43})$/

type Parsed = { readonly cost: Argon2Cost; readonly salt: Buffer; readonly tag: Buffer }

function tagOf(password: Uint8Array, salt: Uint8Array, { memory, passes }: Argon2Cost): Buffer {
  const input = { message: password, nonce: salt, memory, passes, parallelism: 1, tagLength: tagBytes }
  return argon2Sync('argon2id', input)
}

/** The bytes that make equal passwords have different hashes. */
export const newSalt = (random: Random): Uint8Array => random.bytes(saltBytes)

/** The hash of a password as PHC string (RFC 9106), which includes its cost. Blocks the thread for its work. */
export const argon2Hash = (password: Uint8Array, salt: Uint8Array, cost: Argon2Cost): string =>
  phcOf({ cost, salt: Buffer.from(salt), tag: tagOf(password, salt, cost) })

/** Whether the password has this hash. Blocks the thread for its work. */
export function argon2Matches(password: Uint8Array, phc: string): boolean {
  const { cost, salt, tag } = parsed(phc)
  return timingSafeEqual(tagOf(password, salt, cost), tag)
}

/** A hash that no password has, for names that nobody has. */
export const argon2Dummy = (cost: Argon2Cost): string =>
  phcOf({ cost, salt: Buffer.alloc(saltBytes), tag: Buffer.alloc(tagBytes) })

/** Whether a hash has this cost. */
export function hasCost(phc: string, { memory, passes }: Argon2Cost): boolean {
  const { cost } = parsed(phc)
  return cost.memory === memory && cost.passes === passes
}

function parsed(phc: string): Parsed {
  const [, memory, passes, salt = '', tag = ''] = phcForm.exec(phc) ?? []
  if (memory === undefined) throw new Error('a stored password hash has an unknown format')
  return {
    cost: { memory: Number(memory), passes: Number(passes) },
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  }
}

const phcOf = ({ cost, salt, tag }: Parsed): string =>
  `$argon2id$v=19$m=${cost.memory},t=${cost.passes},p=1$${unpadded(salt)}$${unpadded(tag)}`

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replaceAll('=', '')
