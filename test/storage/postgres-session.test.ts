import { describe, expect, test } from 'vitest'
import { parsePostgresUrl } from '../../src/lib/net/postgres-url.ts'
import { type ConnectionSettings, openSession } from '../../src/storage/postgres/session.ts'
import { startCuttingProxy } from '../support/cutting-proxy.ts'
import { newDatabase, query } from '../support/postgres.ts'
import { openPostgresAt } from '../support/postgres-storage.ts'

const never = 2 ** 31 - 1

function settingsOf(url: string, statementTimeoutMs = 30_000): ConnectionSettings {
  const address = parsePostgresUrl(url)
  if (typeof address === 'string') throw new Error(address)
  return {
    address,
    password: undefined,
    passwordFile: undefined,
    caFile: undefined,
    statementTimeoutMs,
    prepares: true,
    applicationName: 'test',
  }
}

describe('a session that finds its prepared statements lost is replaced', () => {
  const numbers = { name: 'numbers', text: 'SELECT * FROM numbers' }

  test.each([
    { why: 'the database has forgotten them', code: '26000', statement: 'DEALLOCATE ALL' },
    {
      why: 'another session of a pooler has prepared one of the same name',
      code: '42P05',
      statement: 'PREPARE later AS SELECT 1',
    },
    {
      why: 'a later version has changed a table',
      code: '0A000',
      statement: 'ALTER TABLE numbers ADD COLUMN square integer',
    },
  ])('$code: $why', async ({ code, statement }) => {
    const session = await openSession(settingsOf(await newDatabase()))
    await session.text('CREATE TABLE numbers (n integer); INSERT INTO numbers VALUES (1)')
    expect(await session.query(numbers)).toEqual([['1']])
    let isReported = false
    session.onBroken(() => {
      isReported = true
    })

    await session.text(statement)
    const asked = code === '42P05' ? { name: 'later', text: 'SELECT 2' } : numbers
    await expect(session.query(asked)).rejects.toMatchObject({ code })

    expect([session.isBroken, isReported]).toEqual([true, true])
  })

  test('a storage fails once at each connection, and then works', async () => {
    const url = await newDatabase()
    await using storage = await openPostgresAt(url, { pool: 2, pollMs: never, notifies: false })
    await storage.write([{ key: 'a', value: new Uint8Array([1]), expect: 'absent' }])
    await storage.get('a')

    await query(url, 'ALTER TABLE records ALTER COLUMN revision TYPE numeric')

    await expect(storage.get('a')).rejects.toMatchObject({ kind: 'unavailable' })
    expect(await storage.get('a')).toMatchObject({ key: 'a' })
    expect(await storage.write([{ key: 'b', value: new Uint8Array([1]), expect: 'absent' }])).toBe(true)
  })
})

test('queries without an answer end with their session, at once and together', async () => {
  const url = new URL(await newDatabase())
  await using proxy = await startCuttingProxy(Number(url.port))
  url.port = String(proxy.port)
  const session = await openSession(settingsOf(url.href, 1_000))

  proxy.silence()
  const failures = await Promise.allSettled([session.text('SELECT 1'), session.text('SELECT 2')])

  expect(failures.map(({ status }) => status)).toEqual(['rejected', 'rejected'])
  expect(session.isBroken).toBe(true)
  await expect(session.text('SELECT 3')).rejects.toThrow()
})
