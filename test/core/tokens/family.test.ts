import { expect, test } from 'vitest'
import { maxGenerations } from '../../../src/core/tokens/store/token-store.ts'
import { aMount, openTokenFixture } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

/** A family with this many generations below root, root first; and the token of the last one. */
async function lineOf(fixture: Fixture, generations: number) {
  let token = fixture.root
  for (let generation = 2; generation <= generations; generation += 1) {
    const { auth } = await fixture.create({ policies: ['web'] }, { caller: token, sudo: true })
    token = await fixture.lookup(auth.client_token)
  }
  return token
}

/** A token mount of another namespace. */
const tokenMount = () =>
  aMount({ path: 'auth/token/', plugin: 'token', namespace: 'aB3xY9', accessor: 'auth_token_2' })

test('a family of the maximum depth ends with its head, lowest generation first', async () => {
  await using fixture = await openTokenFixture()
  const head = await lineOf(fixture, 2)
  let last = head
  for (let generation = 3; generation <= maxGenerations; generation += 1) {
    last = await fixture.lookup((await fixture.create({}, { caller: last, sudo: true })).auth.client_token)
  }
  expect(await fixture.tokens.generationOf(last)).toBe(maxGenerations)

  await expect(fixture.create({}, { caller: last, sudo: true })).rejects.toMatchObject({
    message: 'a token cannot have more than 999 ancestors',
    kind: 'invalid',
    wrapped: false,
  })
  expect((await fixture.create({}, { caller: last, sudo: true, form: 'create-orphan' })).auth.orphan).toBe(
    true,
  )
  await fixture.revoker.revoke(head.accessor)

  expect(fixture.revoked).toHaveLength(maxGenerations - 1)
  expect(fixture.revoked[0]?.accessor).toBe(last.accessor)
  expect(fixture.revoked.at(-1)?.accessor).toBe(head.accessor)
})

test('a family whose head became an orphan may grow again', async () => {
  await using fixture = await openTokenFixture()
  const middle = await lineOf(fixture, 3)
  const last = await fixture.lookup(
    (await fixture.create({}, { caller: middle, sudo: true })).auth.client_token,
  )
  expect(await fixture.tokens.generationOf(last)).toBe(4)

  await fixture.revoker.revokeOrphan(middle.accessor)

  expect(
    await fixture.tokens.generationOf(
      await fixture.tokens.lookupByAccessor(last.accessor).then((token) => token ?? last),
    ),
  ).toBe(1)
})

test('a server that stops between the first write of a revocation and the last ends the family at its next start', async () => {
  await using fixture = await openTokenFixture()
  const head = await lineOf(fixture, 2)
  const child = await fixture.create({}, { caller: head, sudo: true })
  fixture.fixture.cleanUpFails = true
  await fixture.revoker.revoke(head.accessor).catch(() => undefined)
  fixture.fixture.cleanUpFails = false

  const { tokens } = await fixture.restarted()
  expect(await tokens.lookup(child.auth.client_token)).toBeUndefined()
  await fixture.revoker.sweep()

  expect(await fixture.view.listKeys('child/')).toEqual([])
  expect(await fixture.view.listKeys('token/')).toHaveLength(1)
})

test.each([
  ['with rows', true],
  ['of an earlier version', false],
])(
  'a deleted namespace %s revokes its tokens and their descendants, and nothing else',
  async (_, hasRows) => {
    await using fixture = await openTokenFixture()
    const mount = tokenMount()
    fixture.mounts.set(mount.accessor, mount)
    const inside = await fixture.create({ policies: ['web'] }, { mount })
    const ended = await fixture.create({ policies: ['web'] }, { mount })
    const outside = await fixture.create({ policies: ['web'] })
    const rows = await fixture.view.listKeys('namespace-token/')
    if (!hasRows) await fixture.view.deletePrefix('namespace-token/')
    await fixture.revoker.revoke(ended.auth.accessor)
    const left = await fixture.view.listKeys('namespace-token/')
    // as a server of an earlier version makes it
    const without = await fixture.create({ policies: ['web'] }, { mount })
    for (const key of await fixture.view.listKeys('namespace-token/'))
      if (!left.includes(key)) await fixture.view.deletePrefix(key)

    await fixture.revoker.removeNamespace('aB3xY9', { hasRows })

    expect([rows.length, left.length]).toEqual([2, hasRows ? 1 : 0])
    expect(await fixture.view.listKeys('namespace-token/')).toEqual([])
    expect(await fixture.tokens.lookup(inside.auth.client_token)).toBeUndefined()
    expect(await fixture.tokens.lookup(outside.auth.client_token)).toBeDefined()
    // with rows, the removal looks at no other token; this one is invalid with its mount, and expires
    expect(await fixture.view.listKeys('token/')).toHaveLength(hasRows ? 3 : 2)
    fixture.mounts.delete(mount.accessor)
    expect(await fixture.tokens.lookup(without.auth.client_token)).toBeUndefined()
  },
)

test('a token that cannot be read does not stop the removal of its namespace', async () => {
  await using fixture = await openTokenFixture()
  const mount = tokenMount()
  fixture.mounts.set(mount.accessor, mount)
  for (let number = 0; number < 3; number += 1) await fixture.create({ policies: ['web'] }, { mount })
  const [row = ''] = await fixture.view.listKeys('namespace-token/')
  const broken = `token/${row.slice('namespace-token/aB3xY9/'.length)}`
  await fixture.view.write([{ key: broken, value: 'no token' }])

  await fixture.revoker.removeNamespace('aB3xY9', { hasRows: true })

  expect(fixture.revoked).toHaveLength(2)
  expect(await fixture.view.listKeys('namespace-token/')).toEqual([])
  expect(await fixture.view.listKeys('token/')).toHaveLength(2)
  expect(await fixture.view.listKeys('token/')).toContain(broken)
})

test('a walk over tokens skips what cannot be read, and never ends before the last', async () => {
  await using fixture = await openTokenFixture()
  for (let number = 0; number < 5; number += 1) await fixture.login()
  const keys = await fixture.view.listKeys('token/')
  // more than a page, before all others
  const broken = Array.from({ length: 150 }, (_, at) => `token/!${String(at).padStart(3, '0')}`)
  await fixture.view.write(broken.map((key) => ({ key, value: 'no token' })))
  const unreadable: string[] = []

  const seen: string[] = []
  for await (const page of fixture.tokens.pages({ onUnreadable: (hash) => unreadable.push(hash) }))
    seen.push(...page.map(({ hash }) => hash))

  expect(seen.map((hash) => `token/${hash}`)).toEqual(keys)
  expect(unreadable.map((hash) => `token/${hash}`)).toEqual(broken)
})
