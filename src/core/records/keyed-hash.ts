import { Buffer } from 'node:buffer'
import { createHmac, createSecretKey } from 'node:crypto'
import { fail } from '../../errors.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'

/** HMAC-SHA-256 of a text under one key. */
export type KeyedHash = (text: string, encoding: 'hex' | 'base64url' | 'latin1') => string

export function keyedHash(key: Uint8Array): KeyedHash {
  const secret = createSecretKey(key)
  return (text, encoding) => createHmac('sha256', secret).update(text).digest(encoding)
}

const keyBytes = 32

/**
 * Keyed hashes with the keys stored at `key`, one for each of `names`; creates the keys at the first call.
 */
export async function openKeyedHashes<Name extends string>(
  view: View,
  random: Random,
  key: string,
  names: readonly Name[],
): Promise<Record<Name, KeyedHash>> {
  const fresh = Object.fromEntries(
    names.map((name) => [name, Buffer.from(random.bytes(keyBytes)).toString('base64')]),
  )
  await view.putIfAbsent(key, fresh)
  const stored = await view.get(key)
  const hashes = names.map((name) => [name, keyedHash(secretOf(stored, name))] as const)
  // the type of fromEntries loses the names, which are exactly `names`
  return Object.fromEntries(hashes) as Record<Name, KeyedHash>
}

function secretOf(stored: unknown, name: string): Buffer {
  const text =
    typeof stored === 'object' && stored !== null ? new Map(Object.entries(stored)).get(name) : undefined
  const bytes = typeof text === 'string' ? Buffer.from(text, 'base64') : Buffer.alloc(0)
  if (bytes.length !== keyBytes)
    throw fail('internal', 'internal error', { cause: new Error(`stored key "${name}" is not usable`) })
  return bytes
}
