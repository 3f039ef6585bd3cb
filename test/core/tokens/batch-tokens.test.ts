import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { lookupData } from '../../../src/core/tokens/acts/lookup-data.ts'
import { BatchTokens } from '../../../src/core/tokens/store/batch-tokens.ts'
import type { TokenType } from '../../../src/core/tokens/store/token.ts'
import { loginTokenType } from '../../../src/core/tokens/store/token-type.ts'
import { systemRandom } from '../../../src/lib/system/random.ts'
import { openCoreView } from '../../support/core-view.ts'
import { aMount, jwtMount, openTokenFixture, tokenMount } from '../../support/token-fixture.ts'

type Fixture = Awaited<ReturnType<typeof openTokenFixture>>

const aBatch = async (
  fixture: Fixture,
  input: Parameters<Fixture['create']>[0] = {},
  request: Parameters<Fixture['create']>[1] = {},
) => (await fixture.create({ type: 'batch', policies: ['web'], ttl: '20m', ...input }, request)).auth

test('a batch token is its id, and nothing is stored', async () => {
  await using fixture = await openTokenFixture()
  const before = await fixture.view.listKeys('')

  const auth = await aBatch(fixture, { meta: { user: 'a' }, renewable: true })

  expect(auth).toMatchObject({
    accessor: '',
    token_type: 'batch',
    renewable: false,
    lease_duration: 1200,
    orphan: false,
    metadata: { user: 'a' },
  })
  expect(auth.client_token).toMatch(/^hvb\.[A-Za-z0-9_-]+$/)
  expect(await fixture.view.listKeys('')).toEqual(before)
})

test('a look-up shows a batch token in whole seconds', async () => {
  await using fixture = await openTokenFixture()
  const { client_token: id } = await aBatch(fixture)
  fixture.clock.advance(1)

  const shown = lookupData(await fixture.lookup(id), {
    id,
    now: fixture.clock.now(),
    identityPolicies: [],
    namespacePath: '',
  })

  expect(shown).toMatchObject({
    accessor: '',
    type: 'batch',
    path: 'auth/token/create',
    orphan: false,
    creation_ttl: 1200,
    issue_time: '2026-01-02T03:04:05Z',
    expire_time: '2026-01-02T03:24:05Z',
    renewable: false,
    num_uses: 0,
  })
})

test('a batch token is valid for a server that starts later', async () => {
  await using fixture = await openTokenFixture()
  const { client_token: id } = await aBatch(fixture)

  const { tokens } = await fixture.restarted()

  expect(await tokens.lookup(id)).toMatchObject({ type: 'batch', policies: ['default', 'web'] })
})

test('a batch token is valid through its last second', async () => {
  await using fixture = await openTokenFixture()
  const { client_token: id } = await aBatch(fixture, { ttl: '10' })

  // the clock of the fixture stands at a quarter of a second
  fixture.clock.advance(9.75)
  expect(await fixture.tokens.lookup(id)).toBeDefined()
  fixture.clock.advance(0.001)
  expect(await fixture.tokens.lookup(id)).toBeUndefined()
})

test('a batch token ends with its parent, unless it is an orphan', async () => {
  await using fixture = await openTokenFixture()
  const parent = await fixture.lookup((await fixture.create({ policies: ['web'] })).auth.client_token)
  const child = await aBatch(fixture, {}, { caller: parent, sudo: false })
  const orphan = await aBatch(fixture, {}, { caller: parent, sudo: false, form: 'create-orphan' })

  await fixture.revoker.revoke(parent.accessor)

  expect(await fixture.tokens.lookup(child.client_token)).toBeUndefined()
  expect(await fixture.tokens.lookup(orphan.client_token)).toMatchObject({ parent: '' })
})

test('a batch token ends with the mount that issued it, and when that mount moves', async () => {
  await using fixture = await openTokenFixture()
  const { auth } = await fixture.login({ tokenType: 'batch' })

  fixture.mounts.set(jwtMount.accessor, { ...jwtMount, moves: 1 })
  expect(await fixture.tokens.lookup(auth.client_token)).toBeUndefined()
  fixture.mounts.set(jwtMount.accessor, { ...jwtMount, tainted: true })
  expect(await fixture.tokens.lookup(auth.client_token)).toBeUndefined()
  fixture.mounts.set(jwtMount.accessor, jwtMount)
  expect(await fixture.tokens.lookup(auth.client_token)).toBeDefined()
})

test('no character of a batch token can be changed, cut or added', async () => {
  await using fixture = await openTokenFixture()
  const { client_token: id } = await aBatch(fixture)

  const changed = Array.from(
    id,
    (character, at) => id.slice(0, at) + (character === 'A' ? 'B' : 'A') + id.slice(at + 1),
  ).slice(4)
  const others = [
    id.slice(0, -1),
    `${id}A`,
    `${id}=`,
    `${id} `,
    ` ${id}`,
    `${id}.abcdef`,
    `${id}.root`,
    id.replace('hvb.', 'hvs.'),
    id.slice(4),
    'hvb.',
    'hvb.A',
  ]
  for (const other of [...changed, ...others])
    expect(await fixture.tokens.lookup(other), other).toBeUndefined()
  expect(await fixture.tokens.lookup(id)).toBeDefined()
})

test('another spelling of the same bytes is not the token', async () => {
  await using core = await openCoreView()
  const batch = new BatchTokens(core.barrier, systemRandom)
  const record = {
    parent: '',
    namespace: 'root',
    policies: ['web'],
    path: 'p',
    meta: null,
    display_name: 'd',
    creation_time: 1,
    ttl: 60,
    entity_id: '',
  }
  const ids = await Promise.all(
    ['', 'a', 'ab'].map((mount_accessor) => batch.seal({ ...record, bound_cidrs: [], mount_accessor })),
  )

  for (const id of ids) {
    expect(await batch.open(id)).toBeDefined()
    // the last character has unused bits, unless the length is a multiple of three
    const last = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const spellings = Array.from(last, (character) => id.slice(0, -1) + character)
    const opened = await Promise.all(spellings.map((spelling) => batch.open(spelling)))
    expect(spellings.filter((_, index) => opened[index] !== undefined)).toEqual([id])
  }
})

test('a value sealed for another purpose is not a batch token, nor is one of another server', async () => {
  await using core = await openCoreView()
  await using other = await openCoreView()
  const batch = new BatchTokens(core.barrier, systemRandom)
  const record = {
    parent: '',
    namespace: 'root',
    policies: ['root'],
    path: 'p',
    meta: null,
    display_name: 'd',
    creation_time: 1,
    ttl: 60,
    entity_id: '',
  }
  const whole = { ...record, bound_cidrs: [], mount_accessor: 'm' }
  const elsewhere = await core.barrier.sealText('out/other', JSON.stringify(whole))

  expect(await batch.open(`hvb.${elsewhere.toString('base64url')}`)).toBeUndefined()
  expect(await batch.open(await new BatchTokens(other.barrier, systemRandom).seal(whole))).toBeUndefined()
  expect(await batch.open(`hvb.${randomBytes(300).toString('base64url')}`)).toBeUndefined()
})

test('a batch token of a child namespace ends in the id of that namespace, which cannot be removed or changed', async () => {
  await using fixture = await openTokenFixture()
  const mount = { ...tokenMount, namespace: 'aB3xY9' }
  const { client_token: id } = await aBatch(fixture, {}, { mount })

  expect(id).toMatch(/\.aB3xY9$/)
  expect(await fixture.tokens.lookup(id)).toMatchObject({ namespace: 'aB3xY9' })
  expect(await fixture.tokens.lookup(id.slice(0, -7))).toBeUndefined()
  expect(await fixture.tokens.lookup(id.replace('aB3xY9', 'aB3xY8'))).toBeUndefined()
})

test('a batch token too long to send is not issued, and one of that length is not opened', async () => {
  await using fixture = await openTokenFixture()

  await expect(aBatch(fixture, { meta: { note: 'x'.repeat(60_000) } })).rejects.toMatchObject({
    kind: 'invalid',
    message: 'the batch token is too long: its contents must fit in 65536 characters',
  })
  const { client_token: id } = await aBatch(fixture, { meta: { note: 'x'.repeat(40_000) } })
  expect(await fixture.tokens.lookup(id)).toBeDefined()
  expect(await fixture.tokens.lookup(`hvb.${'A'.repeat(70_000)}`)).toBeUndefined()
})

test('a chosen id is ignored for a batch token', async () => {
  await using fixture = await openTokenFixture()

  const made = await fixture.create({ type: 'batch', policies: ['web'], id: 'own.id' })

  expect(made.auth.client_token).toMatch(/^hvb\./)
  expect(made.warnings).toHaveLength(1)
})

test('a batch token cannot create tokens and cannot be renewed', async () => {
  await using fixture = await openTokenFixture()
  const batch = await fixture.lookup((await aBatch(fixture)).client_token)

  await expect(fixture.create({}, { caller: batch, sudo: true })).rejects.toMatchObject({
    message: 'batch tokens cannot create more tokens',
  })
  await expect(fixture.renew(batch)).rejects.toMatchObject({
    message: 'batch tokens cannot be renewed',
    kind: 'invalid',
    wrapped: false,
  })
})

const none = undefined
test.each<{ mount: string | undefined; role: string; type: TokenType }>([
  { mount: 'service', role: 'default', type: 'service' },
  { mount: 'service', role: 'service', type: 'service' },
  { mount: 'service', role: 'batch', type: 'service' },
  { mount: 'batch', role: 'default', type: 'batch' },
  { mount: 'batch', role: 'service', type: 'batch' },
  { mount: 'batch', role: 'batch', type: 'batch' },
  ...[none, '', 'default', 'default-service'].flatMap((mount) => [
    { mount, role: 'default', type: 'service' as const },
    { mount, role: '', type: 'service' as const },
    { mount, role: 'service', type: 'service' as const },
    { mount, role: 'batch', type: 'batch' as const },
  ]),
  { mount: 'default-batch', role: 'default', type: 'batch' },
  { mount: 'default-batch', role: '', type: 'batch' },
  { mount: 'default-batch', role: 'service', type: 'service' },
  { mount: 'default-batch', role: 'batch', type: 'batch' },
])('mount $mount, role $role: $type', ({ mount, role, type }) => {
  expect(loginTokenType(mount, { tokenType: role, numUses: 0, period: 0 })).toBe(type)
})

test.each([
  { terms: { numUses: 3 }, text: 'batch tokens cannot have "num_uses" set' },
  { terms: { numUses: 3, period: 600 }, text: 'batch tokens cannot have "num_uses" set' },
  { terms: { period: 600 }, text: 'batch tokens cannot be periodic' },
])('a mount of type batch refuses a login that must have $terms', async ({ terms, text }) => {
  await using fixture = await openTokenFixture()
  const mount = aMount({ config: { ...aMount().config, token_type: 'batch' } })

  await expect(fixture.login({ tokenType: 'service', ...terms }, mount)).rejects.toMatchObject({
    kind: 'invalid',
    message: text,
    reason: 'uses_need_service',
  })
})

test.each([{ numUses: 3 }, { period: 600 }])(
  'a mount that makes batch tokens by default makes a service token of %j',
  async (terms) => {
    await using fixture = await openTokenFixture()
    const mount = aMount({ config: { ...aMount().config, token_type: 'default-batch' } })

    const { auth, warnings } = await fixture.login({ tokenType: 'default', ...terms }, mount)

    expect(auth).toMatchObject({ token_type: 'service', num_uses: terms.numUses ?? 0 })
    expect(await fixture.lookup(auth.client_token)).toMatchObject({ period: terms.period ?? 0 })
    expect(warnings).toEqual([])
  },
)

test('a batch login of a known name writes nothing, and of a new name only the entity', async () => {
  await using fixture = await openTokenFixture()
  const first = await fixture.login({ tokenType: 'batch' })
  const before = await fixture.view.listKeys('')

  const second = await fixture.login({ tokenType: 'batch' })

  expect(second.auth.entity_id).toBe(first.auth.entity_id)
  expect(await fixture.view.listKeys('')).toEqual(before)
  expect(await fixture.identity.identityOf(first.auth.entity_id)).toBeDefined()
})
