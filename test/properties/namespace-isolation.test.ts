import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inside } from '../support/client.ts'
import { practiceType } from '../support/practice-type.ts'
import { many } from '../support/rounds.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { everything, fillOtherNamespace, hidden, mark, type OtherNamespace } from './two-namespaces.ts'

let server: TestServer
let bravo: OtherNamespace
let made = 0

beforeAll(async () => {
  const roles = new Map([['ci', { ttl: 0, maxTtl: 0, renewable: true }]])
  server = await startTestServer({ plugins: [practiceType({ roles })] })
  bravo = await fillOtherNamespace(server)
})
afterAll(() => server[Symbol.asyncDispose]())

// `@name` stands for an id of bravo, `~` for the caller's namespace.

const idNames = [
  ...[
    'loginToken',
    'loginAccessor',
    'token',
    'accessor',
    'lease',
    'secretLease',
    'engine',
    'mount',
    'entity',
    'entityAlias',
    'group',
    'externalGroup',
    'groupAlias',
  ],
] as const
const anId = fc.constantFrom(...idNames.map((name) => `@${name}`))
const aName = fc.constantFrom(
  `policy-${mark}`,
  `role-${mark}`,
  `key-${mark}`,
  `entity-${mark}`,
  `group-${mark}`,
  `child-${mark}`,
  'engine',
  mark,
  'all',
  'bravo',
  'x',
)
const word = fc.oneof(anId, aName)

const fixedPaths = [
  ...[
    'sys/policies/acl',
    'sys/auth',
    'sys/mounts',
    'sys/namespaces',
    'sys/remount',
    'sys/leases/tidy',
    'sys/leases/count',
    'sys/leases',
    'sys/policy',
  ],
  ...[
    'sys/capabilities',
    'sys/capabilities-self',
    'sys/capabilities-accessor',
    'sys/internal/ui/mounts',
    'sys/internal/ui/namespaces',
  ],
  ...[
    'sys/internal/ui/resultant-acl',
    'sys/internal/counters/entities',
    'sys/internal/counters/tokens',
    'sys/wrapping/wrap',
    'sys/wrapping/unwrap',
  ],
  ...[
    'sys/leases/lookup',
    'sys/leases/renew',
    'sys/leases/revoke',
    'sys/renew',
    'sys/revoke',
    'sys/seal',
    'sys/step-down',
    'sys/raw/core',
    'sys/audit',
  ],
  ...[
    'auth/token/create',
    'auth/token/create-orphan',
    'auth/token/lookup',
    'auth/token/renew',
    'auth/token/revoke',
    'auth/token/revoke-orphan',
  ],
  ...[
    'auth/token/lookup-accessor',
    'auth/token/renew-accessor',
    'auth/token/revoke-accessor',
    'auth/token/accessors',
    'auth/token/tidy',
    'auth/token/roles',
  ],
  ...[
    'auth/token/lookup-self',
    'identity/entity',
    'identity/entity-alias',
    'identity/group',
    'identity/group-alias',
    'identity/entity/merge',
  ],
  ...[
    'identity/lookup/entity',
    'identity/lookup/group',
    'identity/tidy',
    'identity/entity/id',
    'identity/entity/name',
    'identity/group/id',
  ],
  ...[
    'identity/group/name',
    'identity/entity-alias/id',
    'identity/group-alias/id',
    'identity/entity/batch-delete',
    'identity/oidc/introspect',
  ],
  ...[
    'identity/oidc/config',
    'identity/oidc/key',
    'identity/oidc/role',
    'identity/oidc/.well-known/keys',
    'cubbyhole/kept',
    'cubbyhole',
    '',
    'sys',
  ],
]
const pathsBefore = [
  ...[
    'sys/policies/acl/',
    'sys/policy/',
    'sys/auth/',
    'sys/mounts/',
    'sys/namespaces/',
    'sys/namespaces/api-lock/lock/',
    'sys/internal/ui/mounts/auth/',
  ],
  ...[
    'auth/token/roles/',
    'auth/token/create/',
    'identity/entity/id/',
    'identity/entity/name/',
    'identity/entity-alias/id/',
    'identity/group/id/',
  ],
  ...[
    'identity/group/name/',
    'identity/group-alias/id/',
    'identity/oidc/key/',
    'identity/oidc/role/',
    'identity/oidc/token/',
    'sys/leases/lookup/',
  ],
  ...[
    'sys/leases/revoke-prefix/',
    'sys/leases/revoke-force/',
    'sys/leases/renew/',
    'sys/leases/revoke/',
    'sys/revoke-prefix/',
    'cubbyhole/',
  ],
  ...['sys/renew/', 'sys/revoke/', 'sys/revoke-force/', 'engine/creds/'],
  ...['auth/', `auth/jwt-${mark}/role/`, `auth/jwt-${mark}/`, 'sys/remount/status/'],
]
const path = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...fixedPaths) },
  {
    weight: 4,
    arbitrary: fc
      .tuple(
        fc.constantFrom(...pathsBefore),
        word,
        fc.constantFrom('', '', '/tune', '/revoke-tokens', '/rotate', '/login', '/config'),
      )
      .map((p) => p.join('')),
  },
)

const otherPrefix = fc.constantFrom(
  ...[
    '~/',
    '~/',
    '~/',
    '',
    'bravo/',
    '~/bravo/',
    '~/../bravo/',
    '~/%2e%2e/bravo/',
    '~%2F..%2Fbravo%2F',
    'bravo%2F',
    '../bravo/',
    '//bravo/',
  ],
  ...[
    '~//../bravo/',
    './bravo/',
    'Bravo/',
    'bravo%00/',
    '~%2f',
    '~/..%2fbravo/',
    '~\\..\\bravo/',
    `bravo/child-${mark}/`,
  ],
)
const otherHeader = fc.constantFrom(
  ...[
    undefined,
    undefined,
    '~',
    '~',
    '',
    '/',
    'root',
    'bravo',
    '/bravo/',
    '~/../bravo',
    '~/./../bravo/',
    '../bravo',
    '~//bravo',
    'bravo/../~',
  ],
  ...['~/..', 'BRAVO', 'bravo%2F', '~%2F..%2Fbravo', 'bravo,~', ' bravo', `bravo/child-${mark}`],
)

const address = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom({ prefix: '', header: '~' }, { prefix: '~/', header: undefined }) },
  { weight: 2, arbitrary: fc.record({ prefix: otherPrefix, header: otherHeader }) },
)

const field = fc.constantFrom(
  ...[
    'token',
    'accessor',
    'lease_id',
    'id',
    'name',
    'canonical_id',
    'mount_accessor',
    'entity_id',
    'alias_id',
    'alias_name',
    'alias_mount_accessor',
  ],
  ...[
    'to_entity_id',
    'entity_alias',
    'role',
    'key',
    'from',
    'to',
    'path',
    'type',
    'client_id',
    'unlock_key',
    'policy',
  ],
)
const listField = fc.constantFrom(
  'paths',
  'policies',
  'member_group_ids',
  'from_entity_ids',
  'entity_ids',
  'allowed_client_ids',
  'allowed_policies',
)
const text = fc.oneof(
  word,
  fc.constantFrom(
    'jwt',
    'auth/~',
    'bravo/auth/x',
    `bravo/auth/jwt-${mark}`,
    `auth/jwt-${mark}`,
    'bravo/sys/mounts',
    everything,
  ),
)
const body = fc
  .tuple(
    fc.dictionary(field, text, { maxKeys: 3, noNullPrototype: true }),
    fc.dictionary(listField, fc.array(text, { maxLength: 2 }), { maxKeys: 1, noNullPrototype: true }),
  )
  .map(([texts, lists]) => ({ ...texts, ...lists }))

const anyCall = fc.record({
  method: fc.constantFrom('GET', 'POST', 'POST', 'PUT', 'DELETE', 'LIST', 'SCAN', 'PATCH'),
  path,
  body,
})

/** Calls of someone who has an id of bravo and takes it for one of their own namespace. */
const withIds = (method: string, path: string, ...fields: string[]) =>
  fc.tuple(anId, aName).map(([id, name]) => {
    const asId = Object.fromEntries(
      fields.map((one) => [one, one.endsWith('_ids') || one === 'paths' ? [id] : id]),
    )
    return { method, path: path.replace('{id}', id).replace('{name}', name), body: { ...asId, name } }
  })
const meantCall = fc.oneof(
  ...['lookup', 'renew', 'revoke', 'revoke-orphan'].map((verb) =>
    withIds('POST', `auth/token/${verb}`, 'token'),
  ),
  ...['lookup', 'renew', 'revoke'].map((verb) => withIds('POST', `auth/token/${verb}-accessor`, 'accessor')),
  ...['lookup', 'renew', 'revoke'].map((verb) => withIds('POST', `sys/leases/${verb}`, 'lease_id')),
  ...['sys/leases/renew', 'sys/leases/revoke', 'sys/renew', 'sys/revoke'].flatMap((below) => [
    withIds('POST', `${below}/{id}`),
    withIds('POST', below, 'lease_id'),
  ]),
  withIds('GET', 'engine/creds/ci'),
  ...['auth/token', `auth/jwt-${mark}`, 'engine', 'engine/creds/ci', '{id}', 'bravo'].flatMap((below) => [
    withIds('POST', `sys/leases/revoke-prefix/${below}`),
    withIds('POST', `sys/leases/revoke-force/${below}`),
    withIds('POST', `sys/revoke-prefix/${below}`),
    withIds('LIST', `sys/leases/lookup/${below}`),
    withIds('LIST', `sys/leases/lookup/${below}/login`),
  ]),
  withIds('POST', 'sys/capabilities', 'token', 'paths'),
  withIds('POST', 'sys/capabilities-accessor', 'accessor', 'paths'),
  withIds('POST', 'identity/lookup/entity', 'id'),
  withIds('POST', 'identity/lookup/entity', 'alias_id'),
  withIds('POST', 'identity/lookup/group', 'id'),
  withIds('POST', 'identity/lookup/group', 'alias_id'),
  ...['entity', 'entity-alias', 'group', 'group-alias'].flatMap((kind) => [
    withIds('GET', `identity/${kind}/id/{id}`),
    withIds('DELETE', `identity/${kind}/id/{id}`),
    withIds('POST', `identity/${kind}/id/{id}`, 'canonical_id', 'mount_accessor'),
    withIds('POST', `identity/${kind}`, 'id', 'canonical_id', 'mount_accessor'),
    withIds('LIST', `identity/${kind}/id`),
    withIds('LIST', `identity/${kind}/name`),
  ]),
  withIds('POST', 'identity/entity-alias', 'canonical_id', 'mount_accessor'),
  withIds('POST', 'identity/entity/id/{id}/revoke-tokens'),
  withIds('POST', 'identity/entity/merge', 'to_entity_id', 'from_entity_ids'),
  withIds('POST', 'identity/entity/batch-delete', 'entity_ids'),
  withIds('POST', 'identity/group', 'member_group_ids'),
  withIds('POST', 'identity/tidy'),
  withIds('POST', 'auth/token/tidy'),
  withIds('LIST', 'auth/token/accessors'),
  withIds('POST', 'sys/wrapping/unwrap', 'token'),
  withIds('POST', 'sys/remount', 'from', 'to'),
  ...[
    'sys/policies/acl',
    'sys/auth',
    'sys/mounts',
    'sys/namespaces',
    'auth/token/roles',
    'identity/oidc/key',
    'identity/oidc/role',
  ].flatMap((below) => [
    withIds('GET', `${below}/{name}`),
    withIds('DELETE', `${below}/{name}`),
    withIds('LIST', below),
    withIds('GET', below),
  ]),
)

const call = fc
  .tuple(address, fc.oneof(meantCall, anyCall), fc.integer({ min: 0, max: 9 }))
  .map(([where, what, wrapped]) => ({ ...where, ...what, wrapped }))

test('no sequence of calls in one namespace reads or changes anything of another', async () => {
  const before = await bravo.state()
  let inOwn = 0

  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 15, maxLength: 25 }), async (calls) => {
      const own = `own${++made}`
      const client = server.as(await someoneWhoMayDoAllIn(own))
      const said = new Set<string>()
      for (const one of calls) {
        const request = filledIn(one, own)
        const { method, target, headers, payload } = request
        const answer = await client.call(
          method,
          target,
          method === 'GET' || method === 'LIST' || method === 'SCAN' ? undefined : payload,
          { headers },
        )
        if (answer.status < 300) inOwn++
        const asked = JSON.stringify(request)
        for (const word of wordsOf(asked)) said.add(word)
        const told = withoutWords(answer.text, said)
        for (const secret of secretsNotIn(asked)) expect(told, asked).not.toContain(secret)
      }
      expect(await bravo.state()).toEqual(before)
    }),
    // a change by one run would make all later ones fail
    { numRuns: many(20, 40), endOnFailure: true },
  )

  expect(inOwn).toBeGreaterThan(15)
})

/** A token of a new namespace, with every right in it. */
async function someoneWhoMayDoAllIn(namespace: string): Promise<string> {
  await server.root.write(`sys/namespaces/${namespace}`)
  await server.root.write('sys/policies/acl/all', { policy: everything }, inside(namespace))
  await server.root.write('sys/mounts/engine', { type: 'practice' }, inside(namespace))
  const { body } = await server.root.write('auth/token/create', { policies: ['all'] }, inside(namespace))
  return String(body['auth']?.['client_token'])
}

type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

function filledIn({ method, prefix, path, header, body, wrapped }: Call, own: string) {
  const filled = (written: string) =>
    written.replaceAll('~', own).replace(/@(\w+)/g, (_, name: string) => bravo.ids[name] ?? '')
  const headers: Record<string, string> = {
    'Content-Type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
  }
  if (header !== undefined) headers['X-Vault-Namespace'] = filled(header)
  if (wrapped === 0) headers['X-Vault-Wrap-TTL'] = '60'
  const payload: unknown = JSON.parse(filled(JSON.stringify(body)))
  return { method, target: filled(prefix + path), headers, payload }
}

const wordsOf = (text: string): string[] => text.match(/[\w.-]+/g) ?? []

/** Names that the caller itself has sent, which bravo may have too. */
const withoutWords = (text: string, words: ReadonlySet<string>): string =>
  text.replace(/[\w.-]+/g, (word) => (words.has(word) ? '' : word))

/** Texts that a response must not contain: everything of bravo that the caller has not sent itself. */
const secretsNotIn = (request: string): string[] =>
  [hidden, mark, 'bravo', ...Object.values(bravo.ids)].filter((secret) => !request.includes(secret))
