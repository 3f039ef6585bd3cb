import { Buffer } from 'node:buffer'
import crypto, { type Decipheriv } from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { keyBytes } from '../../src/core/barrier/root-key.ts'

/** Of keys and of shares. */
const lengths = new Set([keyBytes, keyBytes + 1])
const OwnMemory = globalThis.ArrayBuffer
const { createCipheriv, createDecipheriv } = crypto

/**
 * Collects every buffer that a cipher used as a key, that was made for a key or a share, or that was decrypted
 * to one.
 */
export function collectKeys() {
  const held = new Map<ArrayBufferLike, Buffer>()
  const hold = (bytes: unknown) => {
    if (Buffer.isBuffer(bytes) && lengths.has(bytes.length)) held.set(bytes.buffer, bytes)
  }
  const encrypting = (...args: Parameters<typeof createCipheriv>) => {
    hold(args[1])
    return createCipheriv(...args)
  }
  const decrypting = (...args: Parameters<typeof createDecipheriv>): Decipheriv => {
    hold(args[1])
    const decipher = createDecipheriv(...args)
    let plain: unknown
    const update = decipher.update.bind(decipher) as (...data: unknown[]) => unknown
    const final = decipher.final.bind(decipher)
    return Object.assign(decipher, {
      update: (...data: unknown[]) => (plain = update(...data)),
      final: () => {
        const end = final()
        hold(plain)
        return end
      },
    })
  }
  const replace = (memory: typeof OwnMemory, ciphers: object) => {
    globalThis.ArrayBuffer = memory
    Object.assign(crypto, ciphers)
    syncBuiltinESMExports()
  }
  const memory = new Proxy(OwnMemory, {
    construct(target, args: [number]) {
      const made = new target(...args)
      hold(Buffer.from(made))
      return made
    },
  })
  replace(memory, { createCipheriv: encrypting, createDecipheriv: decrypting })
  return {
    /** The buffers, except for the seal keys of the fixture, which consist of equal bytes. */
    buffers: () => [...held.values()].filter((key) => isZero(key) || key.some((byte) => byte !== key[0])),
    /** The different keys that these buffers still hold. */
    left(): string[] {
      return [...new Set(this.buffers().flatMap((key) => (isZero(key) ? [] : key.toString('hex'))))].sort()
    },
    [Symbol.dispose]: () => replace(OwnMemory, { createCipheriv, createDecipheriv }),
  }
}

const isZero = (key: Uint8Array) => key.every((byte) => byte === 0)
