import { expect, test } from 'vitest'
import { openBarrier } from '../../src/core/barrier/barrier.ts'
import type { View } from '../../src/core/barrier/view.ts'
import { systemClock } from '../../src/lib/system/clock.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { openSqlite } from '../../src/storage/sqlite/sqlite.ts'
import { laterFactsOf, upgraded } from './old-store.ts'

/** Works on the records of a database that no server holds. */
async function withRecords<T>(path: string, sealKey: string, work: (view: View) => Promise<T>): Promise<T> {
  await using storage = await openSqlite({ path })
  const barrier = await openBarrier({
    storage,
    clock: systemClock,
    random: systemRandom,
    log: { error: () => {} },
    sealKey: Buffer.from(sealKey, 'hex'),
  })
  try {
    return await work(barrier.view('', { numbers: 'plain' }))
  } finally {
    barrier.seal()
  }
}

/** All records but the keys of the barrier, and the history that this version writes. */
const sealed = async (view: View) =>
  (await Promise.all(['core/', 'mount/', 'policy/'].map((prefix) => view.list(prefix))))
    .flat()
    .filter(({ key }) => !key.startsWith('core/history/'))

const isObject = (value: unknown): value is object =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

test('fields that a later version has stored are kept, also when this one changes the record', async () => {
  await using store = await upgraded('0.2.0')
  const facts = await laterFactsOf('0.2.0')
  await store.stop()
  await withRecords(store.database, facts.sealKey, async (view) => {
    for (const { key, value } of await sealed(view))
      if (isObject(value)) await view.write([{ key, value: { ...value, of_later_version: 1 } }])
  })
  await store.start()
  const root = store.as(facts.root)

  const changes = await Promise.all([
    root.write('sys/auth/ci-two/tune', { description: 'tuned' }),
    root.write('auth/jwt/role/ci', { role_type: 'jwt', token_ttl: '1h' }),
    root.write(`identity/entity/id/${facts.entity}`, { metadata: { team: 'b' } }),
    root.write(`identity/group/id/${facts.group}`, { metadata: { team: 'b' } }),
    root.write('auth/token/renew', { token: facts.periodic }),
    root.write('auth/token/roles/deploy', { renewable: false }),
    root.write('sys/leases/renew', { lease_id: facts.lease }),
    root.write('identity/oidc/key/signing', { verification_ttl: '2h' }),
    root.write('sys/namespaces/team', { custom_metadata: { a: 'b' } }),
  ])
  await store.stop()
  const lost = await withRecords(store.database, facts.sealKey, async (view) =>
    (await sealed(view))
      .filter(({ value }) => isObject(value) && !('of_later_version' in value))
      .map(({ key }) => key),
  )
  expect(changes.filter(({ status }) => status >= 300).map(({ text }) => text)).toEqual([])
  expect(lost).toEqual([])
})
