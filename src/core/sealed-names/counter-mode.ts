import { Buffer } from 'node:buffer'
import { createCipheriv, type KeyObject } from 'node:crypto'

export const vectorBytes = 16
const blockBytes = 16

/** AES-256 in counter mode. NIST SP 800-38A §6.5 */
export type CounterMode = {
  /** Encrypts or decrypts bytes with a 16-byte initialization vector. */
  crypt(vector: Uint8Array, bytes: Uint8Array): Buffer
  /**
   * Encrypts or decrypts many texts in place: each stands behind its vector, and `ends` are where they end. The
   * first vector begins the bytes, and the others follow the texts. Takes a third of the time of as many calls of `crypt`.
   */
  cryptAll(bytes: Uint8Array, ends: readonly number[]): void
}

/** Used by one call at a time. */
const scratch = Buffer.alloc(512 * blockBytes)

/**
 * One cipher for all texts. A cipher for each short text takes three times as long, and garbage collection frees each of
 * them by itself.
 */
export function counterMode(key: KeyObject): CounterMode {
  const blocks = createCipheriv('aes-256-ecb', key, null).setAutoPadding(false)
  const cryptAll = (bytes: Uint8Array, ends: readonly number[]) => {
    const counters = scratchOf(ends.reduce((sum, end, at) => sum + paddedLength(end - textAt(ends, at)), 0))
    let next = 0
    for (const [at, end] of ends.entries()) {
      const start = textAt(ends, at)
      for (let block = start; block < end; block += blockBytes) {
        if (block === start)
          for (let byte = 0; byte < vectorBytes; byte += 1)
            counters[next + byte] = bytes[start - vectorBytes + byte] ?? 0
        else follow(counters, next)
        next += blockBytes
      }
    }
    const stream = blocks.update(counters)
    next = 0
    for (const [at, end] of ends.entries()) {
      const start = textAt(ends, at)
      for (let byte = start; byte < end; byte += 1)
        bytes[byte] = (bytes[byte] ?? 0) ^ (stream[next + byte - start] ?? 0)
      next += paddedLength(end - start)
    }
  }
  return {
    crypt: (vector, bytes) => {
      const both = Buffer.concat([vector, bytes])
      cryptAll(both, [both.length])
      return both.subarray(vectorBytes)
    },
    cryptAll,
  }
}

const textAt = (ends: readonly number[], at: number): number => (ends[at - 1] ?? 0) + vectorBytes

const paddedLength = (length: number): number => Math.ceil(length / blockBytes) * blockBytes

const scratchOf = (length: number): Buffer =>
  length <= scratch.length ? scratch.subarray(0, length) : Buffer.alloc(length)

/** The counter behind the one before it. */
function follow(counters: Uint8Array, start: number): void {
  counters.copyWithin(start, start - blockBytes, start)
  for (let at = start + blockBytes - 1; at >= start; at -= 1) {
    const next = ((counters[at] ?? 0) + 1) & 0xff
    counters[at] = next
    if (next !== 0) return
  }
}
