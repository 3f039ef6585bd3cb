import { randomFillSync } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'

/** A source of randomness, passed in so that tests can replace it. */
export type Random = { bytes(count: number): Uint8Array; uuid(): string }

/** What a pool is filled from, and the clocks that tell its age, in milliseconds. */
export type RandomSource = {
  fill(bytes: Uint8Array): void
  wallClock(): number
  /** Monotonic: independent of changes to the wall clock. */
  steadyClock(): number
}

const poolBytes = 8192
const largestFromPool = 256
const uuidBytes = 16
const hexOfByte = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))
const maxAgeMs = 1_000
/** The clocks of a machine drift apart by less than this in a second, unless one of them is changed. */
const clockJumpMs = 20

/**
 * Random bytes; small amounts come from a pool, because a system call costs about the same for a few bytes as
 * for thousands. Bytes are wiped from the pool when they are handed out. If a running machine is cloned, both
 * copies hold the same pool. So no byte in it is older than a second, and the pool is discarded when a clock
 * jumps or `discard` is called, for example on resume.
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

  discard(): void {
    this.#pool.fill(0)
    this.#used = poolBytes
  }

  /** The position of the next bytes in the pool. The caller must wipe them. */
  #take(count: number): number {
    if (this.#used + count > poolBytes || !this.#isFresh()) this.#refill()
    const start = this.#used
    this.#used += count
    return start
  }

  #isFresh(): boolean {
    const { wall, steady } = this.#filledAt
    const age = this.#source.steadyClock() - steady
    return age >= 0 && age < maxAgeMs && Math.abs(this.#source.wallClock() - wall - age) < clockJumpMs
  }

  #refill(): void {
    // read the clocks first: the bytes must not be older than the recorded time
    this.#filledAt = { wall: this.#source.wallClock(), steady: this.#source.steadyClock() }
    this.#source.fill(this.#pool)
    this.#used = 0
  }
}

/**
 * Fills with bytes of OpenSSL's generator, XORed with the kernel's if there is a kernel device. The state of
 * OpenSSL's generator is in this process's memory, so a cloned machine would repeat its output. The kernel
 * learns of a clone and reseeds its generator.
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
    // some systems have no such device: OpenSSL's generator must do
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

/** A text of `length` unbiased base62 characters. */
export function base62(random: Random, length: number): string {
  let text = ''
  while (text.length < length) {
    for (const byte of random.bytes(length + 8)) {
      // 248 = 4 × 62: greater bytes would favour the first characters
      if (byte < 248 && text.length < length) text += alphabet[byte % 62]
    }
  }
  return text
}

/** A number from 0 to `count` - 1, each as likely as any other. `count` is at most 256. */
export function randomIndex(random: Random, count: number): number {
  // greater bytes would favour the first numbers
  const fair = 256 - (256 % count)
  for (;;) {
    const [byte = 0] = random.bytes(1)
    if (byte < fair) return byte % count
  }
}

/** A text of `length` lower-case hexadecimal digits. */
export const hex = (random: Random, length: number): string =>
  Buffer.from(random.bytes(Math.ceil(length / 2)))
    .toString('hex')
    .slice(0, length)
