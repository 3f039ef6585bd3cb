import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { listedDetails, listedNames, whileThere } from '../../src/core/lists.ts'
import { enableAuditFile } from '../support/audit-file.ts'
import type { Answer } from '../support/client.ts'
import { many } from '../support/rounds.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

async function* numbers(count: number): AsyncGenerator<number> {
  for (let number = 1; number <= count; number += 1) yield number
}

test('a walk ends when its client disconnects, and listens no longer', async () => {
  const listeners = new Set<() => void>()
  const whenGone = (listener: () => void) => {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }
  const seen: number[] = []

  const walk = async () => {
    for await (const number of whileThere(numbers(1_000), { whenGone })) {
      seen.push(number)
      if (number === 900) for (const listener of listeners) listener()
    }
  }

  await expect(walk()).rejects.toMatchObject({ kind: 'unavailable' })
  expect([seen.length, listeners.size]).toEqual([900, 0])
})

test.each(['names', 'arriving names', 'details'])(
  '%s are refused once they are longer than a response may be',
  async (kind) => {
    let given = 0
    async function* arriving() {
      for (; given < 1_000; given += 2) yield ['a name', 'a name']
    }
    async function* details() {
      for await (const names of arriving()) yield names.map((name) => [name, { id: 1 }] as const)
    }

    const listing =
      kind === 'details'
        ? listedDetails(details(), 900)
        : listedNames(kind === 'names' ? Array<string>(1_000).fill('a name') : arriving(), 900)

    await expect(listing).rejects.toMatchObject({ kind: 'invalid' })
    expect(given).toBeLessThan(200)
  },
)

test('concurrent long lists are complete, and continue where a page ended', async () => {
  await using server = await startTestServer()
  const { root } = server
  const count = many(310, 620)
  const accessor = String((await root.read('sys/auth')).body.data?.['token/']?.accessor)
  for (let from = 0; from < count; from += 31) {
    const made = Array.from({ length: 31 }, (_, at) =>
      root.write('identity/entity-alias', { name: `person-${from + at}`, mount_accessor: accessor }),
    )
    for (const answer of await Promise.all(made)) expect(answer.status).toBe(200)
  }
  const paths = ['identity/entity/id', 'identity/entity/name', 'identity/entity-alias/id']

  const lists = await Promise.all([...paths, ...paths, ...paths].map((path) => root.list(path)))

  for (const [at, { status, body }] of lists.entries()) {
    const keys = Object.values(body.data?.keys ?? {}).map(String)
    expect([status, new Set(keys).size]).toEqual([200, count])
    expect(keys).toEqual(keys.toSorted())
    const path = String(paths[at % 3])
    if (!path.endsWith('/name')) expect(Object.keys(body.data?.key_info ?? {})).toEqual(keys)
    const page = await root.list(`${path}?after=${keys[9]}&limit=300`)
    expect(page.body.data?.keys).toEqual(keys.slice(10, 310))
  }
})

test('a list of many names arrives whole: as it is, in the audit log and behind a wrapping token', async () => {
  await using folder = await temporaryFolder()
  await using server = await startTestServer({ settings: { AUDIT_DIRS: folder.path } })
  const { root } = server
  await root.write('sys/mounts/many', { type: 'kv' })
  const keys = Array.from({ length: 2_001 }, (_, index) => `${10_000 + index} é`)
  await Promise.all(keys.map((key) => root.write(`many/${encodeURIComponent(key)}`, { a: 1 })))
  const audit = await enableAuditFile(root, folder.file('audit.log'), { options: { log_raw: 'true' } })

  let listed: Answer | undefined
  const entries = await audit.during(async () => (listed = await root.list('many')))
  const wrapped = await root.list('many', { headers: { 'X-Vault-Wrap-TTL': '60' } })
  const unwrapped = await root.write('sys/wrapping/unwrap', { token: wrapped.body['wrap_info']?.['token'] })

  expect(listed?.body.data).toEqual({ keys })
  expect(listed?.headers['content-length']).toBe(String(Buffer.byteLength(listed?.text ?? '')))
  expect(unwrapped.body.data).toEqual({ keys })
  expect(entries.map(({ response }) => response?.['data'])).toEqual([undefined, { keys }])
})
