import Database from 'better-sqlite3'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { formatTime } from '../../../src/lib/text/time.ts'
import { type Answer, type CallOptions, type Client, inside } from '../../support/client.ts'
import { caused, errors, invalidToken, notAccepted, notAllowed } from '../../support/error-bodies.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const admin = 'sys/config/ui/custom-messages'
const before = 'sys/internal/ui/unauthenticated-messages'
const after = 'sys/internal/ui/authenticated-messages'
const now = Date.UTC(2024, 5, 1, 12)
const hello = Buffer.from('Hello').toString('base64')

const clock = new FakeClock(now)
let server: TestServer
let root: Client
let made = 0

beforeAll(async () => {
  server = await startTestServer({ clock, settings: { MESSAGE_WAITERS: '3' } })
  root = server.root
})
afterAll(() => server[Symbol.asyncDispose]())

const knowing = (etag: unknown, namespace = ''): CallOptions => ({
  headers: { 'If-None-Match': String(etag), ...inside(namespace).headers },
})
const keysOf = ({ body }: Answer) => body['data']?.['keys']

/** Creates a message, by default one shown after login; returns its id. */
async function planned(fields: object = {}, namespace = ''): Promise<string> {
  const { status, body } = await root.write(
    admin,
    { title: 't', message: hello, start_time: '2024-01-01T00:00:00Z', ...fields },
    inside(namespace),
  )
  expect(status).toBe(200)
  return String(body['data']?.['id'])
}

/** Creates a namespace, optionally below another one; returns its path. */
async function fresh(parent = ''): Promise<string> {
  const name = `n${++made}`
  expect((await root.write(`sys/namespaces/${name}`, {}, inside(parent))).status).toBe(200)
  return parent === '' ? name : `${parent}/${name}`
}

async function tokenWith(fields: object = {}, namespace = ''): Promise<{ id: string; client: Client }> {
  const { body } = await root.write(
    'auth/token/create',
    { policies: ['default'], ttl: '1h', ...fields },
    inside(namespace),
  )
  const id = String(body['auth']?.['client_token'])
  return { id, client: server.as(id) }
}

/** A token with an entity, created with a token role that may name one. */
async function personWith({
  policies = [] as string[],
  namespace = '',
} = {}): Promise<{ client: Client; entityId: string; name: string }> {
  const name = `person-${++made}`
  await root.write('auth/token/roles/person', { allowed_entity_aliases: ['*'] }, inside(namespace))
  const { body } = await root.write(
    'auth/token/create/person',
    { entity_alias: name, policies: ['default'], ttl: '1h' },
    inside(namespace),
  )
  const entityId = String(body['auth']?.['entity_id'])
  const entity = await root.write(`identity/entity/id/${entityId}`, { policies }, inside(namespace))
  expect(entity.status).toBeLessThan(300)
  return {
    client: server.as(String(body['auth']?.['client_token'])),
    entityId,
    name: String(
      (await root.read(`identity/entity/id/${entityId}`, inside(namespace))).body['data']?.['name'],
    ),
  }
}

describe('what is shown', () => {
  let here = ''
  beforeEach(async () => {
    here = await fresh()
  })

  test.each([before, after])('nothing to show at %s is an empty object', async (path) => {
    const answer = await root.read(path, inside(here))

    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ data: {}, warnings: null, auth: null, wrap_info: null, lease_id: '' })
    expect(answer.text).toContain('"data":{}')
  })

  test('a message shown before login has eight properties and needs no token', async () => {
    const id = await planned(
      { authenticated: false, link: { 'Learn more': 'https://example.org' }, options: { n: 1 } },
      here,
    )

    const answer = await server.anonymous.read(before, inside(here))

    expect(answer.status).toBe(200)
    expect(answer.body['data']).toEqual({
      keys: [id],
      key_info: {
        [id]: {
          title: 't',
          message: hello,
          authenticated: false,
          type: 'banner',
          start_time: '2024-01-01T00:00:00Z',
          end_time: null,
          link: { 'Learn more': 'https://example.org' },
          options: { n: 1 },
        },
      },
    })
  })

  test('numbers in options keep their text', async () => {
    await planned({ options: {} }, here)
    const raw = `{"title":"t","message":"","start_time":0,"authenticated":false,"options":{"a":[1,2.50,null,1e300]}}`
    await root.call('POST', admin, undefined, { raw, ...inside(here) })

    expect((await server.anonymous.read(before, inside(here))).text).toContain(
      '"options":{"a":[1,2.50,null,1e300]}',
    )
  })

  test('an added field is present only if it was set', async () => {
    const added = {
      severity: 'critical',
      priority: 0,
      dismissible: true,
      acknowledge_required: false,
      audience: { policies: ['default'] },
    }
    const bare = await planned({ start_time: '2024-01-02T00:00:00Z' }, here)
    const rich = await planned(added, here)
    const { client } = await tokenWith({}, here)

    const { body } = await client.read(after, inside(here))

    expect(body['data']?.['key_info']?.[rich]).toMatchObject(added)
    expect(Object.keys(body['data']?.['key_info']?.[bare] ?? {})).toHaveLength(8)
  })

  test.each([
    { name: 'scheduled', window: { start_time: '2024-06-01T12:00:01Z' } },
    { name: 'starting right now', window: { start_time: '2024-06-01T12:00:00Z' } },
    { name: 'over', window: { end_time: '2024-05-01T00:00:00Z' } },
    { name: 'ending right now', window: { end_time: '2024-06-01T12:00:00Z' } },
  ])('a message that is $name is not shown', async ({ window }) => {
    await planned({ authenticated: false, ...window }, here)
    await planned(window, here)

    expect((await server.anonymous.read(before, inside(here))).body['data']).toEqual({})
    expect((await root.read(after, inside(here))).body['data']).toEqual({})
  })

  test('a missing, unknown, revoked or expired token, or one of a disabled entity, gets an empty object and no error', async () => {
    await planned({}, here)
    const revoked = await tokenWith()
    await root.write('auth/token/revoke', { token: revoked.id })
    const expired = await tokenWith({ ttl: '1s' })
    const { client: disabled, entityId } = await personWith()
    expect(keysOf(await disabled.read(after, inside(here)))).toHaveLength(1)
    await root.write(`identity/entity/id/${entityId}`, { disabled: true })
    const elsewhere = await tokenWith({})
    clock.advance(2)

    for (const caller of [
      server.anonymous,
      server.as('junk'),
      server.as('hvs.'),
      revoked.client,
      expired.client,
      disabled,
    ]) {
      const answer = await caller.read(after, inside(here))
      expect([answer.status, answer.body['data']]).toEqual([200, {}])
    }
    expect(keysOf(await elsewhere.client.read(after, inside(here)))).toHaveLength(1)
  })

  test('any valid token suffices, whatever its policies and namespace, and loses no use', async () => {
    const id = await planned({}, here)
    const other = await fresh()
    const { client: only } = await tokenWith()
    const { client: strange } = await tokenWith({}, other)
    const { client: none } = await tokenWith({ policies: ['nothing'], no_default_policy: true })
    const { client: once } = await tokenWith({ num_uses: 1 })
    const batch = await tokenWith({ type: 'batch' })

    for (const caller of [only, strange, none, once, once, batch.client])
      expect(keysOf(await caller.read(after, inside(here)))).toEqual([id])
    expect((await once.read('auth/token/lookup-self')).status).toBe(200)
    expect((await once.read('auth/token/lookup-self')).status).toBe(403)
  })

  test('messages for before login are not shown after it, and vice versa', async () => {
    const early = await planned({ authenticated: false }, here)
    const late = await planned({}, here)

    expect(keysOf(await root.read(before, inside(here)))).toEqual([early])
    expect(keysOf(await root.read(after, inside(here)))).toEqual([late])
  })

  test('an Authorization header counts as a token', async () => {
    const id = await planned({}, here)
    const { id: token } = await tokenWith()
    const headers = { Authorization: `Bearer ${token}`, 'X-Vault-Namespace': here }

    expect(keysOf(await server.anonymous.read(after, { headers }))).toEqual([id])
  })

  test.each([
    { href: 'javascript:alert(1)', shown: '' },
    { href: ' \u0001jAva\nscript:alert(1)', shown: '' },
    { href: 'data:text/html,x', shown: '' },
    { href: 'vbscript:x', shown: '' },
    { href: 'HTTPS://example.org', shown: 'HTTPS://example.org' },
    { href: 'http://example.org', shown: 'http://example.org' },
    { href: 'mailto:ops@example.org', shown: 'mailto:ops@example.org' },
    { href: 'www.example.com', shown: 'www.example.com' },
    { href: '/status?x=a:b', shown: '/status?x=a:b' },
    { href: '//example.org', shown: '//example.org' },
  ])('the address $href is shown as $shown', async ({ href, shown }) => {
    const id = await planned({ authenticated: false, link: { More: href } }, here)

    expect(
      (await server.anonymous.read(before, inside(here))).body['data']?.['key_info']?.[id]?.['link'],
    ).toEqual({ More: shown })
  })
})

describe('namespaces and order', () => {
  test('messages of the namespace come first, then those of each one above, and none from below or beside', async () => {
    const a = await fresh()
    const b = await fresh(a)
    const c = await fresh(a)
    const [ofRoot, ofA, ofB, ofC] = [
      await planned({}),
      await planned({}, a),
      await planned({}, b),
      await planned({}, c),
    ]

    expect(keysOf(await root.read(after, inside(b)))).toEqual([ofB, ofA, ofRoot])
    expect(keysOf(await root.read(`${b}/${after}`))).toEqual([ofB, ofA, ofRoot])
    expect(keysOf(await root.read(after, inside(c)))).toEqual([ofC, ofA, ofRoot])
    expect(keysOf(await root.read(after))).toEqual([ofRoot])
    await root.delete(`${admin}/${ofRoot}`)
  })

  test('within a namespace, a higher priority comes first, then a later start, then the id', async () => {
    const a = await fresh()
    const b = await fresh(a)
    const urgent = await planned({ priority: 5, start_time: '2023-01-01T00:00:00Z' }, a)
    const late = await planned({ start_time: '2024-02-01T00:00:00.000000002Z' }, a)
    const later = await planned({ start_time: '2024-02-01T00:00:00.000000003Z', priority: 0 }, a)
    const twins = [await planned({}, a), await planned({}, a)].sort()
    const unimportant = await planned({ priority: -1, start_time: '2024-05-01T00:00:00Z' }, a)
    const own = await planned({ priority: -9 }, b)

    const wanted = [urgent, later, late, ...twins, unimportant]
    expect(keysOf(await root.read(after, inside(a)))).toEqual(wanted)
    expect(keysOf(await root.read(after, inside(b)))).toEqual([own, ...wanted])
  })

  test('the key infos are in the order of the keys', async () => {
    const a = await fresh()
    for (const priority of [1, 3, 2]) await planned({ priority }, a)

    const { body } = await root.read(after, inside(a))

    expect(Object.keys(body['data']?.['key_info'] ?? {})).toEqual(body['data']?.['keys'])
  })

  test('an unknown or locked namespace has no messages', async () => {
    const a = await fresh()
    await root.write(`sys/namespaces/api-lock/lock/${a}`)

    expect((await root.read(before, inside('nowhere'))).body).toEqual(
      errors(`no handler for route "nowhere/${before}". route entry not found.`),
    )
    expect((await root.read(before, inside(a))).status).toBe(503)
  })
})

describe('other verbs and spellings', () => {
  test.each([before, after])('%s is read only, for everyone', async (path) => {
    for (const method of ['POST', 'PUT', 'DELETE']) {
      expect([method, (await server.anonymous.call(method, path)).body]).toEqual([
        method,
        errors('unsupported operation'),
      ])
      expect((await server.anonymous.call(method, path)).status).toBe(405)
    }
    const merge = { raw: '{}', headers: { 'Content-Type': 'application/merge-patch+json' } }
    expect((await server.anonymous.call('PATCH', path, undefined, merge)).status).toBe(405)
    expect((await server.anonymous.call('HEAD', path)).status).toBe(405)
  })

  test.each([before, after])('%s with a trailing slash, or as a list, is not an open path', async (path) => {
    const { client } = await tokenWith()
    const forms = [
      (caller: Client) => caller.read(`${path}/`),
      (caller: Client) => caller.list(path),
      (caller: Client) => caller.call('LIST', path),
    ]
    for (const ask of forms) {
      expect((await ask(server.anonymous)).body).toEqual(notAccepted)
      expect((await ask(client)).body).toEqual(notAllowed)
      expect((await ask(root)).body).toEqual(errors(caused('unsupported path')))
      expect((await ask(root)).status).toBe(404)
    }
    expect((await root.write(`${path}/`)).body).toEqual(errors("cannot write to a path ending in '/'"))
  })

  test('an unknown parameter is reported and otherwise ignored', async () => {
    const plain = await root.read(before)
    const answer = await root.read(`${before}?foo=1`)

    expect(answer.body['warnings']).toEqual(['Endpoint ignored these unrecognized parameters: [foo]'])
    expect(answer.headers['etag']).toBe(plain.headers['etag'])
  })
})

describe('tags (RFC 9110 §13.1.2)', () => {
  const vary = 'X-Vault-Token, X-Vault-Namespace, Authorization'

  test('a response has a strong tag, and its caller may store it and revalidate it', async () => {
    const { headers } = await server.anonymous.read(before)

    expect(headers).toMatchObject({
      etag: expect.stringMatching(/^"[\w-]{20,}"$/),
      'cache-control': 'private, no-cache',
      vary,
      'content-type': 'application/json',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
    })
    expect(headers).not.toHaveProperty('x-next-change-at')
  })

  test.each([
    { name: 'the tag', field: (tag: string) => tag },
    { name: 'its weak form', field: (tag: string) => `W/${tag}` },
    { name: 'a list with it', field: (tag: string) => `"x", ${tag}` },
    { name: 'any', field: () => '*' },
  ])('$name gets 304 without a body, with the same headers', async ({ field }) => {
    const a = await fresh()
    await planned({ authenticated: false, end_time: '2024-12-01T00:00:00Z' }, a)
    const first = await server.anonymous.read(before, inside(a))

    const again = await server.anonymous.read(before, knowing(field(String(first.headers['etag'])), a))

    expect([again.status, again.text]).toEqual([304, ''])
    for (const name of [
      'etag',
      'cache-control',
      'vary',
      'x-next-change-at',
      'strict-transport-security',
      'x-vault-namespace',
    ]) {
      expect([name, again.headers[name]]).toEqual([name, first.headers[name]])
    }
    expect(again.headers).not.toHaveProperty('content-length')
    expect(again.headers).not.toHaveProperty('content-type')
  })

  test.each([`"other"`, 'W/"other"', 'other', '', '"a", "b"'])(
    '%j gets the whole response',
    async (field) => {
      expect((await server.anonymous.read(before, knowing(field))).status).toBe(200)
    },
  )

  test('equal data has an equal tag, whoever asks and whenever, and other data another one', async () => {
    const a = await fresh()
    const tags = new Set<unknown>()
    const look = async () => {
      const first = await root.read(after, inside(a))
      const second = await (await tokenWith()).client.read(after, inside(a))
      expect(second.headers['etag']).toBe(first.headers['etag'])
      expect(second.body['data']).toEqual(first.body['data'])
      tags.add(first.headers['etag'])
    }
    await look()
    const id = await planned({}, a)
    await look()
    await root.write(
      `${admin}/${id}`,
      { title: 'u', message: hello, start_time: '2024-01-01T00:00:00Z' },
      inside(a),
    )
    await look()
    await planned({ start_time: '2024-06-02T00:00:00Z' }, a)
    await look()
    clock.advance(86_400)
    await look()
    await root.delete(`${admin}/${id}`, inside(a))
    await look()

    // the planned message changed nothing before its time
    expect(tags.size).toBe(5)
  })

  test('a client that stored a response for one token gets no 304 with another token', async () => {
    const a = await fresh()
    await planned({ audience: { policies: ['root'] } }, a)
    const { headers } = await root.read(after, inside(a))
    const { client } = await tokenWith()

    expect((await client.read(after, knowing(headers['etag'], a))).body['data']).toEqual({})
  })

  test('a wrapped response has no tag and must not be stored', async () => {
    const { headers } = await root.read(before)

    const answer = await root.read(before, {
      headers: { 'X-Vault-Wrap-TTL': '60', 'If-None-Match': String(headers['etag']) },
    })

    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({ data: null, wrap_info: { token: expect.any(String) } })
    expect(answer.headers).not.toHaveProperty('etag')
    expect(answer.headers['cache-control']).toBe('no-store')
  })

  test('a refusal must not be stored', async () => {
    const answer = await server.anonymous.write(before)

    expect(answer.headers['cache-control']).toBe('no-store')
    expect(answer.headers).not.toHaveProperty('etag')
  })
})

describe('X-Next-Change-At', () => {
  test('is the next start or end of any message that the caller may see, in all namespaces above', async () => {
    const a = await fresh()
    const b = await fresh(a)
    const at = (seconds: number, fraction = '') =>
      formatTime(clock.now() + seconds * 1000).replace('Z', `${fraction}Z`)
    const next = async (path = after, caller = root) =>
      (await caller.read(path, inside(b))).headers['x-next-change-at']
    const { client } = await tokenWith()
    const times = { early: at(10), hidden: at(20), start: at(30, '.123456789'), end: at(40) }

    await planned({ start_time: times.end }, b)
    expect(await next()).toBe(times.end)
    await planned({ start_time: times.start, end_time: at(50) }, a)
    expect(await next()).toBe(times.start)
    await planned(
      { start_time: '2024-01-01T00:00:00Z', end_time: times.hidden, audience: { policies: ['root'] } },
      b,
    )
    expect(await next()).toBe(times.hidden)
    expect(await next(after, client)).toBe(times.start)
    await planned({ authenticated: false, start_time: times.early }, a)
    expect(await next()).toBe(times.hidden)
    expect(await next(before)).toBe(times.early)
    expect(await next(after, server.anonymous)).toBeUndefined()

    clock.advance(30)
    expect(await next(after, client)).toBe(times.start)
    clock.advance(1)
    expect(await next(after, client)).toBe(times.end)
    clock.advance(60)
    expect(await next()).toBeUndefined()
  })

  test('a message shows only between its start and its end, and the tag changes with it', async () => {
    const a = await fresh()
    const start = clock.now() + 1000
    await planned(
      {
        authenticated: false,
        start_time: new Date(start).toISOString(),
        end_time: new Date(start + 1000).toISOString(),
      },
      a,
    )
    const look = async () => {
      const { body, headers } = await server.anonymous.read(before, inside(a))
      return [
        body['data']?.['keys'] === undefined ? 'closed' : 'open',
        headers['x-next-change-at'],
        headers['etag'],
      ]
    }

    const closed = await look()
    expect(closed).toEqual(['closed', formatTime(start), closed[2]])
    clock.advance(1)
    expect(await look()).toEqual(closed)
    clock.advance(0.001)
    const open = await look()
    expect(open).toEqual(['open', formatTime(start + 1000), open[2]])
    expect(open[2]).not.toBe(closed[2])
    clock.advance(0.998)
    expect(await look()).toEqual(open)
    clock.advance(0.001)
    expect(await look()).toEqual(['closed', undefined, closed[2]])
    // the clock of the machine is set back
    clock.advance(-1.5)
    expect(await look()).toEqual(closed)
  })
})

describe('audience', () => {
  test('a message is for policies of the token and of its identity', async () => {
    const a = await fresh()
    const id = await planned({ audience: { policies: ['team'] } }, a)
    const { client: byToken } = await tokenWith({ policies: ['team'] }, a)
    const { client: byIdentity } = await personWith({ policies: ['team'], namespace: a })
    const { client: other } = await personWith({ policies: ['crew'], namespace: a })

    expect(keysOf(await byToken.read(after, inside(a)))).toEqual([id])
    expect(keysOf(await byIdentity.read(after, inside(a)))).toEqual([id])
    expect((await other.read(after, inside(a))).body['data']).toEqual({})
  })

  test('the root token is no exception, and policies of a parent namespace count below', async () => {
    const a = await fresh()
    await planned({ audience: { policies: ['team'] } }, a)
    const id = await planned({ audience: { policies: ['root'] } }, a)

    expect(keysOf(await root.read(after, inside(a)))).toEqual([id])
  })

  test('a policy of the same name in a namespace below or beside does not count', async () => {
    const a = await fresh()
    const below = await fresh(a)
    const beside = await fresh()
    await planned({ audience: { policies: ['team'] } }, a)

    for (const namespace of [below, beside]) {
      const { client } = await tokenWith({ policies: ['team'] }, namespace)
      for (const asked of [a, below])
        expect((await client.read(after, inside(asked))).body['data']).toEqual({})
    }
  })

  test('a message is for entities and groups, including indirect members', async () => {
    const a = await fresh()
    const alice = await personWith()
    const bob = await personWith()
    const group = async (fields: object) =>
      String((await root.write('identity/group', { name: `g${++made}`, ...fields })).body['data']?.['id'])
    const inner = await group({ member_entity_ids: [bob.entityId] })
    const outer = await group({ member_group_ids: [inner] })
    const forAlice = await planned({ priority: 3, audience: { entity_ids: [alice.entityId] } }, a)
    const forInner = await planned({ priority: 2, audience: { group_ids: [inner] } }, a)
    const forOuter = await planned({ priority: 1, audience: { group_ids: [outer] } }, a)

    expect(keysOf(await alice.client.read(after, inside(a)))).toEqual([forAlice])
    expect(keysOf(await bob.client.read(after, inside(a)))).toEqual([forInner, forOuter])
    expect((await root.read(after, inside(a))).body['data']).toEqual({})
    await root.write(`identity/group/id/${inner}`, { member_entity_ids: [alice.entityId] })
    expect(keysOf(await alice.client.read(after, inside(a)))).toEqual([forAlice, forInner, forOuter])
    expect((await bob.client.read(after, inside(a))).body['data']).toEqual({})
  })

  test('an empty audience is everyone', async () => {
    const a = await fresh()
    const id = await planned({ audience: {} }, a)

    expect(keysOf(await (await tokenWith()).client.read(after, inside(a)))).toEqual([id])
  })
})

describe('acknowledging', () => {
  const ack = (client: Client, id: string, namespace = '') =>
    client.write(`${after}/${id}/ack`, undefined, inside(namespace))

  test("is recorded once per entity, in the message's namespace", async () => {
    const a = await fresh()
    const id = await planned({ acknowledge_required: true })
    const person = await personWith()
    const at = formatTime(clock.now())

    const answer = await ack(person.client, id, a)
    clock.advance(60)

    expect([answer.status, answer.text]).toEqual([204, ''])
    expect((await ack(person.client, id)).status).toBe(204)
    expect((await root.list(`${admin}/${id}/acks`)).body['data']).toEqual({
      keys: [person.entityId],
      key_info: { [person.entityId]: { acknowledged_time: at, entity_name: person.name } },
    })
    await root.delete(`${admin}/${id}`)
  })

  test('requires a token with an entity', async () => {
    const id = await planned()

    expect((await ack(server.anonymous, id)).body).toEqual(notAccepted)
    expect((await ack(server.as('junk'), id)).body).toEqual(invalidToken)
    expect((await ack(root, id)).body).toEqual(errors('acknowledging needs a token with an entity'))
    expect((await ack(root, id)).status).toBe(400)
    await root.delete(`${admin}/${id}`)
  })

  test('supports only writes with a valid token', async () => {
    const id = await planned()
    const path = `${after}/${id}/ack`

    expect((await root.read(path)).status).toBe(405)
    expect((await root.delete(path)).status).toBe(405)
    expect((await server.anonymous.read(path)).status).toBe(403)
    expect((await root.write(`${path}/`)).body).toEqual(errors("cannot write to a path ending in '/'"))
    await root.delete(`${admin}/${id}`)
  })

  test('costs no use of the token, and accepts any body', async () => {
    const id = await planned()
    const name = `person-${++made}`
    await root.write('auth/token/roles/person', { allowed_entity_aliases: ['*'] })
    const { body } = await root.write('auth/token/create/person', {
      entity_alias: name,
      num_uses: 1,
      policies: ['default'],
    })
    const client = server.as(String(body['auth']?.['client_token']))

    expect((await client.write(`${after}/${id}/ack`, { any: ['thing'] })).status).toBe(204)
    expect((await client.read('auth/token/lookup-self')).status).toBe(200)
    await root.delete(`${admin}/${id}`)
  })

  test('counts for the target entity after a merge', async () => {
    const id = await planned()
    const gone = await personWith()
    const kept = String(
      (await root.write('identity/entity', { name: `kept-${++made}` })).body['data']?.['id'],
    )
    const merged = await root.write('identity/entity/merge', {
      from_entity_ids: [gone.entityId],
      to_entity_id: kept,
    })
    expect(merged.status).toBe(204)

    expect((await ack(gone.client, id)).status).toBe(204)
    expect((await root.list(`${admin}/${id}/acks`)).body['data']?.['keys']).toEqual([kept])
    await root.delete(`${admin}/${id}`)
  })

  test('requires a message that the caller sees', async () => {
    const a = await fresh()
    const b = await fresh()
    const { client } = await personWith()
    const unseen = [
      await planned({ authenticated: false }, a),
      await planned({ start_time: '2030-01-01T00:00:00Z' }, a),
      await planned({ end_time: '2024-01-02T00:00:00Z' }, a),
      await planned({ audience: { policies: ['other'] } }, a),
      await planned({}, b),
      'nothing',
    ]

    for (const id of unseen) {
      expect((await ack(client, id, a)).status).toBe(404)
      expect((await ack(client, id, a)).body).toEqual(errors('custom message not found'))
    }
  })
})

describe('edition', () => {
  test('the community edition shows nothing, whatever is stored, and acknowledges nothing', async () => {
    await using folder = await temporaryFolder()
    const settings = {
      STORAGE: `sqlite:${folder.path}/gatehouse.db`,
      SEAL_KEY_FILE: `${folder.path}/seal.key`,
    }
    const ids: string[] = []
    let person = ''
    {
      await using enterprise = await startTestServer({ settings })
      for (const authenticated of [true, false]) {
        const { body } = await enterprise.root.write(admin, {
          title: 't',
          message: '',
          start_time: 0,
          authenticated,
        })
        ids.push(String(body['data']?.['id']))
      }
      await enterprise.root.write('auth/token/roles/person', { allowed_entity_aliases: ['*'] })
      const { body } = await enterprise.root.write('auth/token/create/person', { entity_alias: 'alice' })
      person = String(body['auth']?.['client_token'])
      expect(keysOf(await enterprise.as(person).read(after))).toEqual([ids[0]])
    }
    await using community = await startTestServer({ settings: { ...settings, EDITION: 'community' } })

    for (const path of [before, after]) {
      const answer = await community.as(person).read(path)
      expect([answer.status, answer.body['data']]).toEqual([200, {}])
      expect((await community.as(person).read(path, knowing(answer.headers['etag']))).status).toBe(304)
    }
    expect((await community.as(person).write(`${after}/${ids[0]}/ack`)).status).toBe(404)
  })
})

describe('records that cannot be read', () => {
  test('cause a refusal that names the operation, and nothing is lost', async () => {
    await using folder = await temporaryFolder()
    const path = folder.file('gatehouse.db')
    const settings = { STORAGE: `sqlite:${path}`, SEAL_KEY_FILE: folder.file('seal.key') }
    let id = ''
    {
      await using server = await startTestServer({ settings })
      id = String(
        (await server.root.write(admin, { title: 't', message: '', start_time: 0, authenticated: false }))
          .body['data']?.['id'],
      )
    }
    const file = new Database(path)
    const row = file.prepare("SELECT key, value FROM records WHERE key LIKE '%message/root/%'").get() as {
      key: string
      value: Buffer
    }
    const replace = (value: Buffer) =>
      file.prepare('UPDATE records SET value = ? WHERE key = ?').run(value, row.key)
    replace(Buffer.alloc(64))
    {
      await using server = await startTestServer({ settings })
      for (const path of [before, after]) {
        const answer = await server.root.read(path)
        expect([answer.status, answer.body]).toEqual([
          400,
          errors('failed to retrieve custom messages: internal error'),
        ])
        expect(answer.headers).not.toHaveProperty('etag')
      }
      expect((await server.anonymous.read(after)).body['data']).toEqual({})
    }
    replace(row.value)
    file.close()
    await using server = await startTestServer({ settings })
    expect(keysOf(await server.anonymous.read(before))).toEqual([id])
  })
})
