import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { ShareCounts } from '../../../src/core/barrier/seal-config.ts'
import type { HeldKey } from '../../../src/core/seal/held-key.ts'
import { Rekey } from '../../../src/core/seal/rekey.ts'
import { splitKey } from '../../../src/core/seal/shares.ts'
import { ServiceError } from '../../../src/errors.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { FakeClock } from '../../support/fake-clock.ts'

const zeros = Buffer.alloc(32)
const plan = { shares: 1, threshold: 1, pgpKeys: [], backup: false, requiresVerification: false }

/** A key of two shares, both needed, that remembers the buffers it was shown. Without `isHeld` nobody has it. */
async function aHeldKey({ isHeld = true } = {}) {
  const key = randomBytes(32)
  const seen: Buffer[] = []
  /** What the seen keys were when they were shown. */
  const values: Buffer[] = []
  let failure: ServiceError | undefined
  const look = (shown: Buffer) => {
    seen.push(shown)
    values.push(Buffer.from(shown))
  }
  const held: HeldKey = {
    planPrefix: '',
    counts: async (): Promise<ShareCounts | undefined> => (isHeld ? { shares: 2, threshold: 2 } : undefined),
    matches: async (shown) => {
      look(shown)
      return shown.equals(key)
    },
    revision: async () => 1,
    replace: async ({ key: shown }) => {
      look(shown)
      if (failure !== undefined) throw failure
      return true
    },
    backup: async () => undefined,
    deleteBackup: async () => {},
  }
  const clock = new FakeClock()
  return {
    seen,
    values,
    clock,
    rekey: new Rekey({ held, clock, random: systemRandom }),
    shares: () => splitKey(key, { shares: 2, threshold: 2 }),
    fail: (error: ServiceError | undefined) => {
      failure = error
    },
  }
}

/** Offers all shares, and returns the last result. */
async function update(rekey: Rekey, shares: readonly Buffer[]) {
  const { nonce } = await rekey.status()
  const results = []
  for (const share of shares) results.push(await rekey.update(share, nonce))
  return results.at(-1)
}

test('neither the old key, nor the new one, nor a share stays in memory', async () => {
  const { rekey, shares, seen, values } = await aHeldKey()
  await rekey.start(plan)
  const offered = await shares()

  const result = await update(rekey, offered)

  expect(result?.keys).toEqual([values[1]?.toString('hex')])
  expect(values.map((value) => value.equals(zeros))).toEqual([false, false])
  expect(seen).toEqual([zeros, zeros])
  expect(offered).toEqual([Buffer.alloc(33), Buffer.alloc(33)])
})

test.each([
  ['cancelling', ({ rekey }: { rekey: Rekey }) => rekey.cancel()],
  ['disposing', ({ rekey }: { rekey: Rekey }) => rekey[Symbol.dispose]()],
  [
    'ten minutes without a share',
    async ({ rekey, clock }: { rekey: Rekey; clock: FakeClock }) => {
      clock.advance(600)
      expect(await rekey.status()).toMatchObject({ started: false })
    },
  ],
])('%s ends a verification: its key is gone', async (_, end) => {
  const held = await aHeldKey()
  const { rekey, shares, seen } = held
  await rekey.start({ ...plan, requiresVerification: true })
  const result = await update(rekey, await shares())
  const share = Buffer.from(result?.keys[0] ?? '', 'hex')

  await end(held)

  await expect(rekey.verify(share, result?.verification_nonce ?? '')).rejects.toThrow('no rekey in progress')
  expect(seen).toHaveLength(1)
})

test('a disposed rekey begins nothing', async () => {
  const { rekey } = await aHeldKey()

  rekey[Symbol.dispose]()

  await expect(rekey.start(plan)).rejects.toMatchObject({ kind: 'sealed' })
})

test('a write that fails forgets the new key, and the holders can try again', async () => {
  const { rekey, shares, seen, fail } = await aHeldKey()
  await rekey.start(plan)
  fail(new ServiceError('unavailable', 'storage is full'))
  await expect(update(rekey, await shares())).rejects.toMatchObject({ kind: 'unavailable' })
  expect(seen).toEqual([zeros, zeros])
  expect(await rekey.status()).toMatchObject({ started: true, progress: 0 })

  fail(undefined)

  expect(await update(rekey, await shares())).toMatchObject({ complete: true })
  expect(await rekey.status()).toMatchObject({ started: false })
})

test('a verification whose write fails can be repeated', async () => {
  const { rekey, shares, fail } = await aHeldKey()
  await rekey.start({ ...plan, requiresVerification: true })
  const result = await update(rekey, await shares())
  const share = () => Buffer.from(result?.keys[0] ?? '', 'hex')
  const nonce = result?.verification_nonce ?? ''
  fail(new ServiceError('unavailable', 'storage is full'))
  await expect(rekey.verify(share(), nonce)).rejects.toMatchObject({ kind: 'unavailable' })

  fail(undefined)

  expect(await rekey.verify(share(), nonce)).toEqual({ nonce, complete: true })
})

test('a first key whose write fails can be made again', async () => {
  const { rekey, fail } = await aHeldKey({ isHeld: false })
  fail(new ServiceError('unavailable', 'storage is full'))
  await expect(rekey.start(plan)).rejects.toMatchObject({ kind: 'unavailable' })

  fail(undefined)

  expect(await rekey.start(plan)).toMatchObject({ complete: true })
})

test('a share that is refused does not stay in memory', async () => {
  const { rekey, shares } = await aHeldKey()
  const [a = zeros, b = zeros] = await shares()
  await expect(rekey.update(a, '')).rejects.toThrow('no rekey in progress')
  await rekey.start(plan)

  await expect(rekey.update(b, 'another nonce')).rejects.toThrow('incorrect nonce')

  expect([a, b]).toEqual([Buffer.alloc(33), Buffer.alloc(33)])
})
