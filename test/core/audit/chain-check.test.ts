import { generateKeyPairSync, sign } from 'node:crypto'
import { readFile, rename } from 'node:fs/promises'
import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { type ChainHead, chained, emptyChain, linkOf, recordOf } from '../../../src/core/audit/chain.ts'
import type { KnownKey } from '../../../src/core/audit/chain-check.ts'
import { chainRecord } from '../../../src/core/audit/chain-records.ts'
import { checkpointRecord, type Sign } from '../../../src/core/audit/checkpoint.ts'
import { many } from '../../support/rounds.ts'
import { deviceFixture, entry, verdictOf } from './opened-device.ts'

const time = '2026-01-02T03:04:05.250Z'
const id = 'a'.repeat(32)

/** A key that is not the server's. */
function newSigner(): { sign: Sign; known: KnownKey } {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519')
  const public_key = publicKey.export({ format: 'der', type: 'spki' }).toString('base64')
  const known = { key_id: public_key.slice(-8), public_key }
  const signer: Sign = (text) => ({
    ...known,
    signature: sign(null, Buffer.from(text), privateKey).toString('base64'),
  })
  return { sign: signer, known }
}

/** Chains records; a record that is a function gets the head. */
function chain(
  records: readonly (string | ((head: ChainHead) => string))[],
  from = emptyChain(id),
): string[] {
  let head = from
  return records.map((record) => {
    const next = chained(typeof record === 'string' ? record : record(head), head)
    head = next.head
    return next.line
  })
}

const checkpointWith = (signer: Sign) => (head: ChainHead) =>
  checkpointRecord(head, { time, device: 'file/', replica: 'one' }, signer)

const text = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

const { sign: signer, known } = newSigner()
const start = chainRecord(time, { event: 'start' })
const checkpoint = checkpointWith(signer)
const records = [start, entry(1), entry(2), checkpoint, entry(3), entry(4), checkpoint, entry(5)]
const lines = chain(records)
const otherChain = chain([start, entry(1), entry(2), checkpoint], emptyChain('b'.repeat(32)))
const headAt = (line: string | undefined) => linkOf(Buffer.from(line ?? ''))

/** The lines from `at` on, chained again, as somebody without the key would. */
function rechained(changed: readonly string[], at: number): string[] {
  const before = headAt(changed[at - 1]) ?? emptyChain(id)
  const rest = changed.slice(at).map((line) => recordOf(Buffer.from(line)).toString())
  return [...changed.slice(0, at), ...chain(rest, before)]
}

test('an untouched chain is intact', () => {
  expect(verdictOf([text(lines)], { keys: [known] })).toBe('intact')
})

describe('tampering is detected:', () => {
  const without = (...at: number[]) => lines.filter((_, index) => !at.includes(index))
  const swapped = lines.with(1, lines[2] ?? '').with(2, lines[1] ?? '')
  const edited = (at: number, from: string, to: string) =>
    lines.map((line, index) => (index === at ? line.replace(from, to) : line))

  test.each([
    { name: 'a byte of an entry', changed: edited(1, 'request', 'requesT'), line: 2, reason: 'changed' },
    { name: 'the number of a line', changed: edited(1, '"seq":2', '"seq":3'), line: 2, reason: 'changed' },
    { name: 'a hash', changed: edited(1, '"hash":"', '"hash":"0'), line: 2, reason: 'not whole' },
    {
      name: 'a removed chain member',
      changed: edited(1, ',"chain":', ',"link":'),
      line: 2,
      reason: 'not whole',
    },
    {
      name: 'a member that is not the last',
      changed: lines.with(1, `${lines[1]} `),
      line: 2,
      reason: 'not whole',
    },
    { name: 'a line removed at the start', changed: without(0), line: 1, reason: 'removed' },
    { name: 'several lines removed at the start', changed: without(0, 1, 2), line: 1, reason: 'removed' },
    { name: 'a line removed in the middle', changed: without(2), line: 3, reason: 'removed' },
    { name: 'two lines in the wrong order', changed: swapped, line: 2, reason: 'reordered' },
    { name: 'a line twice', changed: lines.toSpliced(2, 0, lines[1] ?? ''), line: 3, reason: 'reordered' },
    {
      name: 'a removed line whose gap was closed',
      changed: rechained(without(1), 1),
      line: 3,
      reason: 'bad signature',
    },
    {
      name: 'a changed entry with new hashes',
      changed: rechained(edited(1, 'request', 'requesT'), 1),
      line: 4,
      reason: 'bad signature',
    },
    {
      name: 'a changed signature with new hashes',
      changed: rechained(edited(6, '"signature":"', '"signature":"AA'), 6),
      line: 7,
      reason: 'bad signature',
    },
    {
      name: 'a changed device name with new hashes',
      changed: rechained(edited(6, '"file/"', '"pipe/"'), 6),
      line: 7,
      reason: 'bad signature',
    },
    {
      name: 'a chain id replaced in all lines',
      changed: lines.map((line) => line.replaceAll('a'.repeat(32), 'c'.repeat(32))),
      line: 1,
      reason: 'changed',
    },
    {
      name: 'a replaced chain id with new hashes',
      changed: chain(
        lines.map((line) => recordOf(Buffer.from(line)).toString()),
        emptyChain('c'.repeat(32)),
      ),
      line: 4,
      reason: 'bad signature',
    },
    {
      name: 'lines of another chain between those of this one',
      changed: lines.toSpliced(3, 0, ...otherChain),
      line: 4,
      reason: 'changed',
    },
    {
      name: 'lines of another chain in place of those of this one',
      changed: lines.toSpliced(1, 3, ...otherChain.slice(1)),
      line: 2,
      reason: 'changed',
    },
    { name: 'an empty line', changed: lines.toSpliced(3, 0, ''), line: 4, reason: 'not whole' },
    {
      name: 'a foreign line',
      changed: lines.toSpliced(3, 0, '{"type":"request"}'),
      line: 4,
      reason: 'not whole',
    },
  ])('$name', ({ changed, line, reason }) => {
    expect(verdictOf([text(changed)])).toEqual({ line, reason })
  })

  test('an end in the middle of a line', () => {
    expect(verdictOf([text(lines).slice(0, -30)])).toEqual({ line: 8, reason: 'not whole' })
  })

  test('a missing last line end', () => {
    expect(verdictOf([text(lines).slice(0, -1)])).toEqual({ line: 8, reason: 'not whole' })
  })

  test('a chain that another key signed, if the keys are known', () => {
    const other = newSigner()
    const forged = text(chain([start, entry(1), checkpointWith(other.sign)]))

    expect(verdictOf([forged])).toBe('intact')
    expect(verdictOf([forged], { keys: [known] })).toEqual({ line: 3, reason: 'unknown key' })
    expect(verdictOf([forged], { keys: [{ ...other.known, key_id: known.key_id }] })).toEqual({
      line: 3,
      reason: 'unknown key',
    })
  })

  test('each named head must be there, also if two have the same place', () => {
    const head = headAt(lines.at(-1)) ?? emptyChain(id)
    const other = { ...head, hash: 'f'.repeat(64) }

    for (const heads of [
      [head, other],
      [other, head],
    ])
      expect(verdictOf([text(lines)], { heads })).toMatchObject({ reason: 'head missing' })
  })

  test('a removed end, if its last record is known', () => {
    const head = headAt(lines.at(-1))
    const cut = text(lines.slice(0, -1))

    expect(verdictOf([text(lines)], { heads: head && [head] })).toBe('intact')
    expect(verdictOf([cut])).toBe('intact')
    expect(verdictOf([cut], { heads: head && [head] })).toEqual({ line: 7, reason: 'head missing' })
  })

  test('a rewritten end, if its last record is known', () => {
    const head = headAt(lines.at(-1))
    const changed = lines.with(7, (lines[7] ?? '').replace('"id":"5"', '"id":"6"'))
    const rewritten = text(rechained(changed, 7))

    expect(verdictOf([rewritten])).toBe('intact')
    expect(verdictOf([rewritten], { heads: head && [head] })).toEqual({ line: 8, reason: 'head missing' })
  })

  test('a file that is missing between two others, and files in the wrong order', () => {
    const [first, second, third] = [text(lines.slice(0, 3)), text(lines.slice(3, 5)), text(lines.slice(5))]

    expect(verdictOf([first, second, third])).toBe('intact')
    expect(verdictOf([first, third])).toEqual({ line: 1, reason: 'removed' })
    expect(verdictOf([first, third, second])).toEqual({ line: 1, reason: 'removed' })
    expect(verdictOf([first, first])).toEqual({ line: 1, reason: 'reordered' })
  })
})

describe('a torn line', () => {
  const torn = (bytes: number) => chainRecord(time, { event: 'torn', torn_bytes: bytes })
  const half = (lines[3] ?? '').slice(0, 100)
  const continued = (bytes: number) => chain([torn(bytes), entry(3)], headAt(lines[2]))

  test('is accepted directly before the record that reports it', () => {
    expect(verdictOf([text([...lines.slice(0, 3), half, ...continued(100)])])).toBe('intact')
  })

  test.each([
    { name: 'with another length', rest: [half, ...continued(99)], line: 4 },
    { name: 'without its record', rest: [half, ...chain([entry(3)], headAt(lines[2]))], line: 4 },
    { name: 'twice', rest: [half, half, ...continued(100)], line: 4 },
    { name: 'at the end', rest: [half], line: 4 },
  ])('is not accepted $name', ({ rest, line }) => {
    expect(verdictOf([text([...lines.slice(0, 3), ...rest])])).toEqual({ line, reason: 'not whole' })
  })

  test('that is missing is detected', () => {
    expect(verdictOf([text([...lines.slice(0, 3), ...continued(100)])])).toEqual({
      line: 4,
      reason: 'removed',
    })
  })

  test('may lack only its line end', () => {
    const bytes = Buffer.byteLength(lines[2] ?? '')
    const rest = chain([torn(bytes), entry(3)], headAt(lines[1]))

    expect(verdictOf([text([...lines.slice(0, 3), ...rest])])).toBe('intact')
  })
})

describe('mixed lines', () => {
  const mixed = lines.flatMap((line, at) => [line, otherChain[at]].filter((one) => one !== undefined))

  test('are checked as separate chains', () => {
    expect(verdictOf([text(mixed)])).toEqual({ line: 2, reason: 'changed' })
    expect(verdictOf([text(mixed)], { isMixed: true })).toBe('intact')
  })

  test('may begin in the middle of a chain, where a collector has split its files', () => {
    expect(verdictOf([text(lines.slice(2))], { isMixed: true })).toBe('intact')
  })

  test('reveal a changed line of one of them', () => {
    const changed = mixed.with(4, (mixed[4] ?? '').replace('"id":"2"', '"id":"0"'))

    expect(verdictOf([text(changed)], { isMixed: true })).toEqual({ line: 5, reason: 'changed' })
  })

  test('reveal a removed line of one of them', () => {
    expect(verdictOf([text(mixed.toSpliced(4, 1))], { isMixed: true })).toEqual({
      line: 6,
      reason: 'removed',
    })
  })
})

describe('a file of a real device', () => {
  let files: Buffer[] = []
  let unsigned = 0

  beforeAll(async () => {
    await using fixture = await deviceFixture()
    const file = fixture.file('audit.log')
    const device = await fixture.open({ timing: { checkMs: 60_000 } })
    for (let number = 0; number < 20; number += 1) await device.write(entry(number))
    await rename(file, fixture.file('old.log'))
    await device.reopen()
    await Promise.all(Array.from({ length: 1_200 }, (_, number) => device.write(entry(`é${number}`))))
    files = [await readFile(fixture.file('old.log')), await readFile(file)]
    const last = files[1]?.lastIndexOf('"type":"checkpoint"') ?? 0
    unsigned = (files[1]?.length ?? 0) - (files[1]?.indexOf('\n', last) ?? 0)
  })

  test('reveals any change of a single byte before the unsigned end', () => {
    const signed = files.map((file, at) => (at === files.length - 1 ? file.length - unsigned : file.length))
    const place = fc
      .nat(files.length - 1)
      .chain((at) => fc.record({ at: fc.constant(at), offset: fc.nat((signed[at] ?? 1) - 1) }))

    fc.assert(
      fc.property(place, fc.integer({ min: 1, max: 255 }), ({ at, offset }, difference) => {
        const changed = files.map((file) => Buffer.from(file))
        const byte = changed[at]?.[offset] ?? 0
        changed[at]?.writeUInt8(byte ^ difference, offset)

        return verdictOf(changed) !== 'intact'
      }),
      { numRuns: many(60, 150) },
    )
    expect(verdictOf(files)).toBe('intact')
  })
})
