import { randomFillSync } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** Randomness as it is handed in. */
export type Random = {
  bytes(count: number): Uint8Array
  uuid(): string
}

/** What prefetched randomness is made of, and how it is known to be fresh. Times are milliseconds. */
export type RandomSource = {
  fill(bytes: Uint8Array): void
  wallClock(): number
  /** Goes on evenly, whatever becomes of the wall clock. */
  steadyClock(): number
}

const poolBytes = 8192
const largestFromPool = 256
const uuidBytes = 16
const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const longestAgeMs = 1_000
/** The clocks of a machine drift apart by less than this in a second, unless one of them is set. */
const clockJumpMs = 20

/**
 * Random bytes, small amounts out of a pool: a call to the system costs much the same for a few bytes as for
 * thousands. Bytes leave the pool as they are handed out. A machine can be cloned while it runs, and then
 * both copies hold the same pool: so nothing in it is older than a second, and all of it is discarded when
 * the clock has jumped or `discard` is called, as on a resume.
 */
export class PooledRandom implements Random {
  readonly #source: RandomSource
  readonly #pool = Buffer.allocUnsafeSlow(poolBytes)
  #used = poolBytes
  #filledAt = { wall: 0, steady: 0 }

  constructor(source: RandomSource) {
    this.#source = source
  }

  bytes(count: number): Uint8Array {
    if (count > largestFromPool) {
      const bytes = Buffer.allocUnsafeSlow(count)
      this.#source.fill(bytes)
      return bytes
    }
    const start = this.#take(count)
    const bytes = Uint8Array.prototype.slice.call(this.#pool, start, this.#used)
    this.#pool.fill(0, start, this.#used)
    return bytes
  }

  /** Version 4 of RFC 9562. */
  uuid(): string {
    const pool = this.#pool
    const start = this.#take(uuidBytes)
    pool[start + 6] = ((pool[start + 6] ?? 0) & 0x0f) | 0x40
    pool[start + 8] = ((pool[start + 8] ?? 0) & 0x3f) | 0x80
    let text = ''
    for (let index = 0; index < uuidBytes; index++) {
      if (index === 4 || index === 6 || index === 8 || index === 10) text += '-'
      text += hexOfByte[pool[start + index] ?? 0]
      pool[start + index] = 0
    }
    return text
  }

  /** Forgets what was prefetched. */
  discard(): void {
    this.#pool.fill(0)
    this.#used = poolBytes
  }

  /** Where in the pool the next bytes are; they are the caller's to wipe. */
  #take(count: number): number {
    if (this.#used + count > poolBytes || !this.#isFresh()) this.#refill()
    const start = this.#used
    this.#used += count
    return start
  }

  #isFresh(): boolean {
    const { wall, steady } = this.#filledAt
    const age = this.#source.steadyClock() - steady
    return age >= 0 && age < longestAgeMs && Math.abs(this.#source.wallClock() - wall - age) < clockJumpMs
  }

  #refill(): void {
    // first the time: the bytes must not be older than it says
    this.#filledAt = { wall: this.#source.wallClock(), steady: this.#source.steadyClock() }
    this.#source.fill(this.#pool)
    this.#used = 0
  }
}

/**
 * Bytes of OpenSSL's generator, mixed with the kernel's where there is such a device. The state of OpenSSL's
 * lies in the memory of this process, and a clone of the machine continues it in the same way; the kernel is
 * told of a clone, and its generator then starts afresh.
 */
function fillFromSystem(bytes: Uint8Array): void {
  randomFillSync(bytes)
  kernelDevice ??= openKernelDevice()
  if (kernelDevice === 'none') return
  const kernel = Buffer.allocUnsafeSlow(bytes.length)
  for (let read = 0; read < kernel.length; ) {
    const count = readSync(kernelDevice, kernel, read, kernel.length - read, null)
    if (count === 0) throw new Error('the random device gives nothing')
    read += count
  }
  for (let index = 0; index < bytes.length; index++) bytes[index] = (bytes[index] ?? 0) ^ (kernel[index] ?? 0)
  kernel.fill(0)
}

let kernelDevice: number | 'none' | undefined

function openKernelDevice(): number | 'none' {
  try {
    const device = openSync('/dev/urandom', 'r')
    if (fstatSync(device).isCharacterDevice()) return device
    closeSync(device)
  } catch {
    // some systems have none: there OpenSSL's generator is all there is
  }
  return 'none'
}

const systemPool = new PooledRandom({
  fill: fillFromSystem,
  wallClock: () => Date.now(),
  steadyClock: () => performance.now(),
})

export const systemRandom: Random & { discard(): void } = {
  bytes: (count) => systemPool.bytes(count),
  uuid: () => systemPool.uuid(),
  discard: () => systemPool.discard(),
}

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

/** `length` base62 characters without bias. */
export function base62(random: Random, length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of random.bytes(length + 8)) {
      // 248 = 4 × 62: bytes above would favour the first letters
      if (byte < 248 && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}

/** `length` lower-case hexadecimal digits. */
export const hex = (random: Random, length: number): string =>
  Buffer.from(random.bytes(Math.ceil(length / 2)))
    .toString('hex')
    .slice(0, length)
