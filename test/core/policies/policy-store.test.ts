import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { View } from '../../../src/core/barrier/view.ts'
import { PolicyStore } from '../../../src/core/policies/policy-store.ts'
import type { TemplateContext } from '../../../src/core/policies/templates.ts'
import { openCoreView } from '../../support/core-view.ts'

const text = '# mine\npath "cubbyhole/a" {\n\tcapabilities = ["read"]\n}\n'
const anyone: TemplateContext = { now: 0 }

async function openStore() {
  const core = await openCoreView()
  const store = await PolicyStore.open(core)
  return Object.assign(store, { core, [Symbol.asyncDispose]: () => core[Symbol.asyncDispose]() })
}

const capabilities = async (store: PolicyStore, names: string[], path: string, context = anyone) =>
  (await store.aclFor('root', names, context)).capabilities(path)

/**
 * What `default` grants (docs/contract/tokens-and-policies.md#built-in-policies). Only its templated paths
 * depend on the caller.
 */
const defaultRights: [path: string, capabilities: string[]][] = [
  ['auth/token/lookup-self', ['read']],
  ['auth/token/renew-self', ['update']],
  ['auth/token/revoke-self', ['update']],
  ['sys/capabilities-self', ['update']],
  ['identity/entity/id/e-1', ['read']],
  ['identity/entity/name/bob', ['read']],
  ['identity/entity/id/e-2', ['deny']],
  ['sys/internal/ui/resultant-acl', ['read']],
  ['sys/leases/renew', ['update']],
  ['sys/leases/renew/x', ['deny']],
  ['sys/renew', ['update']],
  ['sys/leases/lookup', ['update']],
  ['sys/leases/revoke', ['deny']],
  ['auth/token/create', ['deny']],
  ['cubbyhole/x/y', ['create', 'delete', 'list', 'read', 'update']],
  ['cubbyhole', ['deny']],
  ['sys/wrapping/wrap', ['update']],
  ['sys/wrapping/lookup', ['update']],
  ['sys/wrapping/unwrap', ['update']],
  ['sys/wrapping/rewrap', ['deny']],
  ['sys/tools/hash', ['update']],
  ['sys/tools/hash/sha2-256', ['update']],
  ['identity/oidc/provider/x/authorize', ['read', 'update']],
]

test.each(defaultRights)('the default policy: %s gets %j', async (path, expected) => {
  await using store = await openStore()
  const bob = { entity: { id: 'e-1', name: 'bob', aliases: [] }, now: 0 }

  expect(await capabilities(store, ['default'], path, bob)).toEqual(expected)
})

test('the default policy grants a token without an entity nothing of identity', async () => {
  await using store = await openStore()

  expect(await capabilities(store, ['default'], 'identity/entity/id/e-1')).toEqual(['deny'])
  expect(await capabilities(store, ['default'], 'auth/token/lookup-self')).toEqual(['read'])
})

test.each([
  ['cubbyhole/response', ['create', 'read']],
  ['sys/wrapping/unwrap', ['update']],
  ['sys/wrapping/lookup', ['deny']],
  ['auth/token/lookup-self', ['deny']],
])('response-wrapping: %s gets %j', async (path, expected) => {
  await using store = await openStore()

  expect(await capabilities(store, ['response-wrapping'], path)).toEqual(expected)
})

test('a new store has the built-in policies, and later writes are visible', async () => {
  await using store = await openStore()
  expect(await store.list('root')).toEqual(['default', 'root'])

  await store.put('root', 'zoo', text)
  await store.put('root', 'web', text)

  expect(await store.list('root')).toEqual(['default', 'web', 'zoo', 'root'])
  expect(await store.get('root', 'root')).toEqual({ name: 'root', text: '' })
  expect(await store.get('root', 'none')).toBeUndefined()
  expect(await store.get('root', 'web')).toEqual({
    name: 'web',
    text,
    modified: '2026-01-02T03:04:05.25Z',
    version: 1,
    cas_required: false,
  })
  expect((await store.get('root', 'response-wrapping'))?.text).toContain('cubbyhole/response')
})

test.each([
  ['capitals', 'Web', ['policy name was converted to web']],
  ['blanks', ' web ', []],
  ['blanks and capitals', ' WEB', ['policy name was converted to web']],
])('%s: a policy written as %j is web, with the warnings %j', async (_name, written, warnings) => {
  await using store = await openStore()

  expect(await store.put('root', written, text)).toEqual(warnings)

  expect(await store.get('root', 'wEb ')).toMatchObject({ name: 'web', text })
  expect(await store.list('root')).toEqual(['default', 'web', 'root'])
  expect(await capabilities(store, [' Web'], 'cubbyhole/a')).toEqual(['read'])
})

test('a base64 text is stored decoded', async () => {
  await using store = await openStore()

  await store.put('root', 'web', Buffer.from(text).toString('base64'))

  expect(await store.get('root', 'web')).toMatchObject({ text })
})

test.each([
  ['no text', 'web', '', "'policy' parameter not supplied or empty"],
  ['a built-in name', 'response-wrapping', text, 'cannot update "response-wrapping" policy'],
  ['the name root', ' Root', text, 'cannot update "root" policy'],
  ['no name', ' ', text, 'policy name missing'],
  [
    'an unknown capability',
    'web',
    'path "/" { capabilities = ["read","banana"] }',
    'failed to parse policy: path "/": invalid capability "banana"',
  ],
])('%s: writing %j is refused and changes nothing', async (_name, name, policy, message) => {
  await using store = await openStore()

  await expect(store.put('root', name, policy)).rejects.toMatchObject({
    kind: 'invalid',
    wrapped: false,
    message,
  })

  expect(await store.list('root')).toEqual(['default', 'root'])
})

test.each([
  ['Default', 'cannot delete default policy'],
  ['root', 'cannot delete "root" policy'],
  ['response-wrapping', 'cannot delete "response-wrapping" policy'],
])('deleting %s is refused', async (name, message) => {
  await using store = await openStore()

  await expect(store.delete('root', name)).rejects.toMatchObject({ kind: 'invalid', wrapped: false, message })
})

test('deleting a policy that does not exist succeeds', async () => {
  await using store = await openStore()
  await store.put('root', 'web', text)

  await store.delete('root', 'nothing')
  await store.delete('root', 'WEB')

  expect(await store.list('root')).toEqual(['default', 'root'])
  expect(await store.has('root', 'web')).toBe(false)
})

test('a folder lists the names below it', async () => {
  await using store = await openStore()
  for (const name of ['team/sub/b', 'teams', 'team', 'team/a']) await store.put('root', name, text)

  expect(await store.list('root', 'team')).toEqual(['team/a', 'team/sub/b'])
  expect(await store.list('root', 'Team/')).toEqual(['team/a', 'team/sub/b'])
  expect(await store.list('root', 'team/a')).toEqual([])
  expect(await store.list('root')).toEqual(['default', 'team', 'team/a', 'team/sub/b', 'teams', 'root'])
})

test('the default policy can be changed, and the change is kept', async () => {
  await using store = await openStore()
  await store.put('root', 'default', text)

  const later = await PolicyStore.open(store.core)

  expect(await later.get('root', 'default')).toMatchObject({ text })
  expect(await capabilities(later, ['default'], 'auth/token/lookup-self')).toEqual(['deny'])
})

test('a write takes effect on the next request, also for a policy that did not exist', async () => {
  await using store = await openStore()
  expect(await capabilities(store, ['web'], 'a')).toEqual(['deny'])

  await store.put('root', 'web', 'path "a" { capabilities = ["read"] }')
  expect(await capabilities(store, ['web'], 'a')).toEqual(['read'])

  await store.put('root', 'web', 'path "a" { capabilities = ["update"] }')
  expect(await capabilities(store, ['web'], 'a')).toEqual(['update'])

  await store.delete('root', 'web')
  expect(await capabilities(store, ['web'], 'a')).toEqual(['deny'])
})

test('a copy read before a write is not kept after it', async () => {
  await using core = await openCoreView()
  const slow = new HeldReads(core.view)
  const store = await PolicyStore.open({ view: slow.view, clock: core.clock })
  await store.put('root', 'web', 'path "a" { capabilities = ["read"] }')

  const early = capabilities(store, ['web'], 'a')
  await slow.held
  await store.put('root', 'web', 'path "a" { capabilities = ["update"] }')
  slow.release()
  await early

  expect(await capabilities(store, ['web'], 'a')).toEqual(['update'])
})

/** Reads return the state at the time of the call, once released. */
class HeldReads {
  readonly view: View
  readonly held: Promise<void>
  readonly release: () => void

  constructor(view: View) {
    const asked = Promise.withResolvers<void>()
    const released = Promise.withResolvers<void>()
    this.held = asked.promise
    this.release = released.resolve
    const get = async (key: string) => {
      const value = await view.get(key)
      asked.resolve()
      await released.promise
      return value
    }
    this.view = {
      get,
      read: (key) => view.read(key),
      watch: (prefix, listener) => view.watch(prefix, listener),
      list: (prefix, range) => view.list(prefix, range),
      listKeys: (prefix, range) => view.listKeys(prefix, range),
      pages: (prefix, after) => view.pages(prefix, after),
      keyPages: (prefix, after) => view.keyPages(prefix, after),
      update: (key, change) => view.update(key, change),
      take: (key) => view.take(key),
      write: (batch) => view.write(batch),
      putIfAbsent: (key, value) => view.putIfAbsent(key, value),
      fromRoot: (entry) => view.fromRoot(entry),
      deletePrefix: (prefix) => view.deletePrefix(prefix),
      view: (prefix, options) => view.view(prefix, options),
    }
  }
}

test('root grants everything, in the root namespace and only as the first name', async () => {
  await using store = await openStore()
  await store.core.view.write(store.firstEntries('aB3xY9'))

  expect(await capabilities(store, ['root'], 'x')).toEqual(['root'])
  expect(await capabilities(store, ['default', 'root'], 'x')).toEqual(['deny'])
  expect((await store.aclFor('aB3xY9', ['root'], anyone)).capabilities('x')).toEqual(['deny'])
  expect(await store.list('aB3xY9')).toEqual(['default'])
  expect(await store.get('aB3xY9', 'root')).toBeUndefined()
  await expect(store.put('aB3xY9', 'root', text)).rejects.toThrow('cannot update "root" policy')
})

test('a namespace sees its own policies only', async () => {
  await using store = await openStore()
  await store.put('aB3xY9', 'web', text)

  expect(await store.get('root', 'web')).toBeUndefined()
  expect(await store.list('root')).toEqual(['default', 'root'])
  expect(await capabilities(store, ['web'], 'cubbyhole/a')).toEqual(['deny'])
  expect((await store.aclFor('aB3xY9', ['web'], anyone)).capabilities('cubbyhole/a')).toEqual(['read'])
})

test('names are distinct whatever characters they contain', async () => {
  await using store = await openStore()
  await store.put('root', 'a', text)
  await store.put('root', 'b', 'path "b" { capabilities = ["read"] }')
  expect(await capabilities(store, ['a', 'b'], 'b')).toEqual(['read'])

  for (const name of ['a/1:b', 'a,b', 'a\0b', 'a/b'])
    expect(await capabilities(store, [name], 'b')).toEqual(['deny'])
})

test('rights are the union of all policies named', async () => {
  await using store = await openStore()
  await store.put('root', 'a', 'path "x" { capabilities = ["read"] }')
  await store.put('root', 'b', 'path "x" { capabilities = ["update"] }')

  expect(await capabilities(store, ['a', 'none', 'b'], 'x')).toEqual(['read', 'update'])
})

test('an ACL is built for its caller, though the policies are shared', async () => {
  await using store = await openStore()
  await store.put('root', 'own', 'path "u/{{identity.entity.name}}" { capabilities = ["read"] }')
  const acl = (name: string) =>
    store.aclFor('root', ['own'], { entity: { id: name, name, aliases: [] }, now: 0 })

  expect((await acl('bob')).capabilities('u/bob')).toEqual(['read'])
  expect((await acl('eve')).capabilities('u/bob')).toEqual(['deny'])
})

test('unknown fields of a record are kept', async () => {
  await using store = await openStore()
  await store.core.view.putIfAbsent('root/web', { policy: text, later: 7 })

  await store.put('root', 'web', 'path "b" {}')

  expect(await store.core.view.get('root/web')).toEqual({
    policy: 'path "b" {}',
    modified: '2026-01-02T03:04:05.25Z',
    version: 2,
    cas_required: false,
    later: 7,
  })
})

test.each([{ policy: 'path "a" { unknown = 1 }' }, { policy: 5 }, {}, null])(
  'a record that cannot be understood is a failure, never an absent policy: %j',
  async (record) => {
    await using store = await openStore()
    await store.core.view.putIfAbsent('root/web', record)

    await expect(store.aclFor('root', ['default', 'web'], anyone)).rejects.toMatchObject({
      kind: 'internal',
      message: 'policy "web" cannot be read',
    })
  },
)

test('more policies and sets than the cache holds still decide correctly', async () => {
  await using store = await openStore()
  const long = (path: string) => `path "${path}" { capabilities = ["read"] }\n#${'x'.repeat(1_000_000)}`
  for (let index = 0; index < 20; index++) await store.put('root', `p${index}`, long(`a/${index}`))

  for (let round = 0; round < 2; round++) {
    for (let index = 0; index < 40; index++) {
      const names = [`p${index % 20}`, `p${(index + 1) % 20}`]
      expect(await capabilities(store, names, `a/${index % 20}`)).toEqual(['read'])
      expect(await capabilities(store, names, `a/${(index + 2) % 20}`)).toEqual(['deny'])
    }
  }
})

test('the rights of a caller depend on its entity, its groups and the time, not on earlier callers', async () => {
  await using store = await openStore()
  await store.put(
    'root',
    'p',
    [
      'path "e/{{identity.entity.name}}" { capabilities = ["read"] }',
      'path "g/{{identity.groups.names.ops.id}}" { capabilities = ["read"] }',
      'path "t/{{time.now}}" { capabilities = ["read"] }',
      'path "x" { capabilities = ["read"] expiration = "2026-01-01T00:00:10Z" }',
    ].join('\n'),
  )
  const entity = { id: 'e-1', name: 'bob', metadata: null, aliases: [] }
  const groups = [{ id: 'g-1', name: 'ops' }]
  const start = Date.UTC(2026, 0, 1)
  const context = { entity, groups, now: start }
  const paths = ['e/bob', 'e/eve', 'g/g-1', 'g/g-2', `t/${start / 1000}`, `t/${start / 1000 + 10}`, 'x']
  const readable = async (changes: Partial<TemplateContext>) => {
    const acl = await store.aclFor('root', ['p'], { ...context, ...changes })
    return paths.filter((path) => acl.decide({ operation: 'read', path }).allowed)
  }

  expect(await readable({})).toEqual(['e/bob', 'g/g-1', paths[4], 'x'])
  expect(await readable({})).toEqual(['e/bob', 'g/g-1', paths[4], 'x'])
  expect(await readable({ entity: { ...entity, name: 'eve' } })).toEqual(['e/eve', 'g/g-1', paths[4], 'x'])
  expect(await readable({ groups: [{ id: 'g-2', name: 'ops' }] })).toEqual(['e/bob', 'g/g-2', paths[4], 'x'])
  expect(await readable({ entity: undefined })).toEqual(['x'])
  expect(await readable({ now: start + 10_000 })).toEqual(['e/bob', 'g/g-1', paths[5]])
})

test('a policy that comes from both token and identity counts once', async () => {
  await using store = await openStore()
  await store.put('root', 'p', 'path "x" { capabilities = ["read"] allowed_parameters = { a = ["1"] } }')

  const acl = await store.aclFor('root', ['p'], anyone, [
    { namespace: 'root', names: ['p', 'P'], prefix: '' },
  ])

  expect(acl.resultant()).toMatchObject({ exact_paths: { x: { allowed_parameters: { a: ['1'] } } } })
})

test('root from an identity is ignored, also when the token has no policies', async () => {
  await using store = await openStore()

  const acl = await store.aclFor('root', [], anyone, [{ namespace: 'root', names: ['root'], prefix: '' }])

  expect(acl.decide({ operation: 'read', path: 'sys/mounts' })).toEqual({ allowed: false, sudo: false })
})

const many = Array.from({ length: 300 }, (_, index) => `many-${index}`)
const rules = Array.from(
  { length: 10 },
  (_, index) => `path "secret/${index}/+/x" { capabilities = ["read"] }`,
)

async function openStoreOfMany() {
  const store = await openStore()
  await Promise.all(many.map((name) => store.put('root', name, rules.join('\n'))))
  return store
}

test('other work runs while a caller with many policies makes its first request', async () => {
  await using store = await openStoreOfMany()

  const order: string[] = []
  const first = store.aclFor('root', many, anyone).then(() => order.push('the first request'))
  await nextTurn()
  order.push('other work')
  await first

  expect(order).toEqual(['other work', 'the first request'])
})

test('policies that change between two turns of a first request are all read again', async () => {
  await using store = await openStoreOfMany()
  const denying = 'path "secret/0/a/x" { capabilities = ["deny"] }'

  const first = capabilities(store, many, 'secret/0/a/x')
  await nextTurn()
  await store.put('root', 'many-0', denying)

  expect(await first).toEqual(['deny'])
})

test('requests that need the same policies at the same time share the work, but not with those before a change', async () => {
  await using core = await openCoreView()
  let reads = 0
  const get = core.view.get.bind(core.view)
  const view = Object.assign(core.view, {
    get: (key: string) => {
      reads += 1
      return get(key)
    },
  })
  const store = await PolicyStore.open({ view, clock: core.clock })
  await Promise.all(many.map((name) => store.put('root', name, rules.join('\n'))))
  reads = 0

  const [one, other] = await Promise.all([
    store.aclFor('root', many, anyone),
    store.aclFor('root', many, anyone),
  ])
  const before = reads
  const asked = capabilities(store, many.slice(1), 'secret/0/a/x')
  await store.put('root', 'many-1', 'path "secret/0/a/x" { capabilities = ["deny"] }')
  const after = await capabilities(store, many.slice(1), 'secret/0/a/x')
  await asked

  expect(before).toBe(many.length)
  expect(one.capabilities('secret/0/a/x')).toEqual(other.capabilities('secret/0/a/x'))
  expect(after).toEqual(['deny'])
})
