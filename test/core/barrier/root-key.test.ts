import { Buffer } from 'node:buffer'
import { describe, expect, test } from 'vitest'
import { keyringKey } from '../../../src/core/barrier/keyring-record.ts'
import { rootKeyKey } from '../../../src/core/barrier/root-key.ts'
import { aBarrierFixture, type BarrierFixture, sealKey } from './barrier-fixture.ts'

const sealConfig = (text: string) => ({ key: 'barrier/seal-config', value: Buffer.from(text) })
const keysOf = async ({ storage }: BarrierFixture) => [
  await storage.get(rootKeyKey),
  await storage.get(keyringKey),
]

test('only the seal key of the store opens its root key', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()

  expect(await barrier.opensRootKey(sealKey(1))).toBe(true)
  expect(await barrier.opensRootKey(sealKey(2))).toBe(false)
})

describe('a new seal key', () => {
  test('comes with a new root key, and with further records in the same step', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    await barrier.view('').update('a', () => 'one')
    const [root] = await keysOf(fixture)

    expect(await barrier.rekey(sealKey(2), [sealConfig('3 of 5')])).toBe(true)

    expect([await barrier.opensRootKey(sealKey(1)), await barrier.opensRootKey(sealKey(2))]).toEqual([
      false,
      true,
    ])
    expect((await fixture.storage.get('barrier/seal-config'))?.value.toString()).toBe('3 of 5')
    await barrier.rotate()
    expect(await (await fixture.open({ sealKey: sealKey(2) })).view('').get('a')).toBe('one')
    // with the old seal key, a copy of the old root key opens nothing any more
    await fixture.storage.update(rootKeyKey, () => root?.value)
    await expect(fixture.open()).rejects.toMatchObject({ exitCode: 5 })
  })

  test('writes nothing if an expectation does not hold', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const before = await keysOf(fixture)

    expect(await barrier.rekey(sealKey(2), [{ ...sealConfig('3 of 5'), expect: 7 }])).toBe(false)

    expect(await keysOf(fixture)).toEqual(before)
    expect(await fixture.storage.get('barrier/seal-config')).toBeUndefined()
  })

  test('writes nothing if another server has changed the root key meanwhile', async () => {
    await using fixture = await aBarrierFixture()
    const [one, other] = await Promise.all([fixture.open(), fixture.open()])

    const results = await Promise.all([one.rekey(sealKey(2)), other.rekey(sealKey(3))])

    expect(results).toEqual([true, false])
    expect(await other.opensRootKey(sealKey(2))).toBe(true)
  })

  test('on a full disk leaves the previous seal key in use', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    fixture.faults.arm('storage.before-commit', 'full')

    await expect(barrier.rekey(sealKey(2))).rejects.toMatchObject({ kind: 'unavailable' })

    expect(await barrier.opensRootKey(sealKey(1))).toBe(true)
  })
})

describe('a new root key', () => {
  test('keeps everything readable and replaces both sealed keys', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    await barrier.view('').update('a', () => 'one')
    const [root, ring] = await keysOf(fixture)

    await barrier.rotateRootKey(sealKey(1))
    await barrier.rotate()
    await barrier.view('').update('b', () => 'two')

    const next = await fixture.open()
    expect([await next.view('').get('a'), await next.view('').get('b')]).toEqual(['one', 'two'])
    // the former root key opens nothing any more
    await fixture.storage.update(rootKeyKey, () => root?.value)
    await expect(fixture.open()).rejects.toMatchObject({ exitCode: 5 })
    await fixture.storage.update(keyringKey, () => ring?.value)
    expect(await (await fixture.open()).view('').get('a')).toBe('one')
  })

  test('is refused for another seal key, and nothing is written', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const before = await keysOf(fixture)

    await expect(barrier.rotateRootKey(sealKey(2))).rejects.toMatchObject({ kind: 'invalid' })

    expect(await keysOf(fixture)).toEqual(before)
  })

  test('that storage rejects changes nothing', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open()
    const before = await keysOf(fixture)
    fixture.faults.arm('storage.before-commit', 'full')

    await expect(barrier.rotateRootKey(sealKey(1))).rejects.toMatchObject({ kind: 'unavailable' })

    expect(await keysOf(fixture)).toEqual(before)
    await barrier.rotate()
    expect((await fixture.open()).keyStatus().term).toBe(2)
  })

  test('can be created while data keys rotate, the seal key changes and many records are written', async () => {
    await using fixture = await aBarrierFixture()
    const barrier = await fixture.open({ limits: { perKey: 10, block: 4 } })
    const fill = async () => {
      for (let at = 0; at < 30; at += 1) await barrier.view('n/').update(String(at), () => at)
    }

    await Promise.all([
      fill(),
      ...Array.from({ length: 5 }, () => barrier.rotateRootKey(sealKey(1))),
      ...Array.from({ length: 5 }, () => barrier.rotate()),
    ])
    await Promise.all([barrier.rotate(), barrier.rekey(sealKey(2)), barrier.rotate()])

    expect(await (await fixture.open({ sealKey: sealKey(2) })).view('n/').list('')).toHaveLength(30)
  })
})

test('a barrier that is sealed meanwhile writes no root key', async () => {
  await using fixture = await aBarrierFixture()
  const barrier = await fixture.open()
  const before = await keysOf(fixture)

  const calls = [barrier.rekey(sealKey(2)), barrier.rotateRootKey(sealKey(1)), barrier.rotate()].map((call) =>
    expect(call).rejects.toMatchObject({ kind: 'sealed' }),
  )
  barrier.seal()
  await Promise.all(calls)

  expect(await keysOf(fixture)).toEqual(before)
})
