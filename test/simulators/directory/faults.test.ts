import { expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import type { FaultInput } from '../../../simulators/directory/fault-fields.ts'
import { operations } from '../../../simulators/directory/operations.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { actAs, askToken, filterPath, makeCredential, send } from './client.ts'

const create = { displayName: 'made' }
const countOf = (directory: Directory) => directory.inventory().length

type Row = { fault: FaultInput; done: boolean; answer: Record<string, unknown> | 'no answer' }

const rows: Row[] = [
  {
    fault: { kind: 'status', status: 503, retryAfterSeconds: 7 },
    done: false,
    answer: { status: 503, headers: { 'retry-after': '7' }, body: { error: { code: 'ServiceUnavailable' } } },
  },
  {
    fault: { kind: 'status', status: 403, code: 'Mine', message: 'Told so.' },
    done: false,
    answer: { status: 403, body: { error: { code: 'Mine', message: 'Told so.' } } },
  },
  {
    fault: { kind: 'status', status: 502, body: 'plain words' },
    done: false,
    answer: { status: 502, raw: 'plain words' },
  },
  {
    fault: { kind: 'throttled', retryAfterSeconds: 2 },
    done: false,
    answer: { status: 429, headers: { 'retry-after': '2' }, body: { error: { code: 'TooManyRequests' } } },
  },
  {
    fault: { kind: 'throttled', retryAfterSeconds: 'Fri, 15 Jan 2027 08:00:00 GMT' },
    done: false,
    answer: { status: 429, headers: { 'retry-after': 'Fri, 15 Jan 2027 08:00:00 GMT' } },
  },
  {
    fault: { kind: 'redirect', url: 'https://127.0.0.1:1/x' },
    done: false,
    answer: { status: 307, headers: { location: 'https://127.0.0.1:1/x' } },
  },
  { fault: { kind: 'dropped' }, done: false, answer: 'no answer' },
  { fault: { kind: 'lost' }, done: true, answer: 'no answer' },
  { fault: { kind: 'cut' }, done: true, answer: 'no answer' },
  { fault: { kind: 'empty' }, done: true, answer: { status: 201, raw: '' } },
  {
    fault: { kind: 'html' },
    done: true,
    answer: {
      status: 200,
      headers: { 'content-type': 'text/html' },
      raw: expect.stringContaining('<!doctype html>'),
    },
  },
  { fault: { kind: 'slow', delayMs: 1 }, done: true, answer: { status: 201, body: { displayName: 'made' } } },
  {
    fault: { kind: 'huge', bytes: 100_000 },
    done: true,
    answer: { status: 201, raw: expect.stringContaining('x'.repeat(100_000)) },
  },
]

test.each(rows)('$fault: the operation is done $done, and only once', async ({ fault, done, answer }) => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  directory.fault({ ...fault, operation: 'createApplication' })

  const asked = root.graph('POST', '/applications', create)

  if (answer === 'no answer') await expect(asked).rejects.toThrow()
  else expect(await asked).toMatchObject(answer)
  expect(countOf(directory)).toBe(done ? 1 : 0)
  expect((await root.graph('POST', '/applications', create)).status).toBe(201)
})

test('with silence nothing is done, and closing the stand-in keeps nobody waiting', async () => {
  const directory = await startDirectory()
  const root = await actAs(directory)
  directory.fault({ kind: 'silent', operation: 'createApplication' })

  const asked = root.graph('POST', '/applications', create)
  const refused = expect(asked).rejects.toThrow()
  await directory.journal.arrived('createApplication')
  const count = countOf(directory)
  await directory[Symbol.asyncDispose]()

  await refused
  expect(count).toBe(0)
})

test('a held response waits for its release, after the operation is done', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  directory.fault({ kind: 'held', operation: 'createApplication' })
  let isAnswered = false

  const asked = root.graph('POST', '/applications', create).finally(() => {
    isAnswered = true
  })
  await directory.journal.arrived('createApplication')
  const before = { isAnswered, count: countOf(directory) }
  directory.release()
  const answer = await asked

  expect(before).toEqual({ isAnswered: false, count: 1 })
  expect(answer.status).toBe(201)
})

test('a late operation is only done when it is released', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  directory.fault({ kind: 'late', operation: 'createApplication' })

  const asked = root.graph('POST', '/applications', create)
  await directory.journal.arrived('createApplication')
  const before = countOf(directory)
  directory.release()
  const answer = await asked

  expect([before, answer.status, countOf(directory)]).toEqual([0, 201, 1])
})

test('a list can continue at a foreign address', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  directory.fault({ kind: 'foreign-next-link', operation: 'listGroups', origin: 'https://evil.example' })

  const { body } = await root.graph('GET', '/groups')

  expect(body['@odata.nextLink']).toBe('https://evil.example/next?$skiptoken=1')
})

test('times limits a fault, skip exempts the first requests, and null lasts until cleared', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const statuses = async (count: number) => {
    const seen: number[] = []
    for (let turn = 0; turn < count; turn += 1) seen.push((await root.graph('GET', '/groups')).status)
    return seen
  }

  directory.fault({ kind: 'status', status: 500, operation: 'listGroups', times: 2, skip: 1 })
  const some = await statuses(4)
  directory.fault({ kind: 'status', status: 500, service: 'directory', times: null })
  const all = await statuses(3)
  const elsewhere = await askToken(directory)
  directory.clearFaults()
  const none = await statuses(1)

  expect([some, all, elsewhere.status, none]).toEqual([[200, 500, 500, 200], [500, 500, 500], 200, [200]])
})

test('the token endpoint fails in its own format', async () => {
  await using directory = await startDirectory()
  directory.fault({ kind: 'throttled', operation: 'token', retryAfterSeconds: 5 })

  const answer = await askToken(directory)

  expect(answer).toMatchObject({
    status: 429,
    headers: { 'retry-after': '5' },
    body: { error: 'temporarily_unavailable' },
  })
})

test('chaos is the same for the same seed, and continues after another change', async () => {
  const run = async (seed: number) => {
    await using directory = await startDirectory()
    const root = await actAs(directory)
    directory.change({
      chaos: {
        seed,
        probability: 0.5,
        faults: [
          { kind: 'status', status: 500 },
          { kind: 'status', status: 503 },
        ],
      },
    })
    const seen: number[] = []
    for (let turn = 0; turn < 20; turn += 1) {
      directory.change({ pageSize: turn + 1 })
      seen.push((await root.graph('GET', '/groups')).status)
    }
    return seen
  }

  const [first, again, other] = [await run(7), await run(7), await run(8)]

  expect(again).toEqual(first)
  expect(other).not.toEqual(first)
  expect(new Set(first)).toEqual(new Set([200, 500, 503]))
})

test('a rate limit refuses excess requests until its window ends', async () => {
  const clock = new FakeClock()
  await using directory = await startDirectory({ now: () => clock.now() })
  const root = await actAs(directory)
  directory.change({ rateLimits: { directory: { requests: 2, perSeconds: 10 } } })
  const ask = () => root.graph('GET', '/groups')

  const within = [await ask(), await ask()]
  clock.advance(4)
  const beyond = await ask()
  clock.advance(6)
  const later = await ask()

  expect(within.map(({ status }) => status)).toEqual([200, 200])
  expect(beyond).toMatchObject({ status: 429, headers: { 'retry-after': '6' } })
  expect(later.status).toBe(200)
})

test('a service that is down comes back at the same address', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  await directory.goDown('directory')
  const asked = root.graph('GET', '/groups')
  await expect(asked).rejects.toThrow(/ECONNREFUSED/)
  const login = await askToken(directory)
  await directory.comeBack('directory')

  expect([login.status, (await root.graph('GET', '/groups')).status]).toEqual([200, 200])
})

test('all services that are down come back, however they went down, and the others stay up', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)

  for (const service of ['login', undefined] as const) {
    await directory.goDown(service)
    await directory.comeBack()
    await directory.comeBack('directory')

    expect([(await askToken(directory)).status, (await root.graph('GET', '/groups')).status]).toEqual([
      200, 200,
    ])
  }
})

test('the journal has each request with its outcome, and no secret', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  directory.journal.clear()
  directory.fault({ kind: 'lost', operation: 'createApplication' })

  await root.graph('POST', '/applications', create).catch(() => 'lost')
  await root.graph('GET', filterPath('/applications', "displayName eq 'made'"))
  await askToken(directory, { secret: 'wrong' })
  await send(directory, 'GET', `${directory.directoryUrl}/v1.0/groups`)

  expect(directory.journal.entries()).toMatchObject([
    {
      operation: 'createApplication',
      method: 'POST',
      hasToken: true,
      fault: 'lost',
      clientId: directory.rootClientId,
      body: create,
    },
    { operation: 'listApplications', status: 200, query: expect.stringContaining('displayName') },
    {
      operation: 'token',
      status: 401,
      code: 'invalid_client',
      hasToken: false,
      clientId: directory.rootClientId,
    },
    { operation: 'listGroups', status: 401, code: 'InvalidAuthenticationToken', hasToken: false },
  ])
  expect(directory.journal.entries({ operation: 'createApplication' })[0]).not.toHaveProperty('status')
  expect(JSON.stringify(directory.journal.entries())).not.toContain('wrong')
})

test('every operation except unknown has a route', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { id, principalId, appId, keyId } = await makeCredential(root)
  const [nobody, group] = [crypto.randomUUID(), directory.groupIds.foo]
  const subscription = `/subscriptions/${directory.subscriptionId}`
  const login = (method: string, path: string) => send(directory, method, `${directory.authorityUrl}${path}`)
  await Promise.all([
    login('GET', `/${directory.tenantId}/v2.0/.well-known/openid-configuration`),
    login('GET', '/common/discovery/instance?authorization_endpoint=x'),
    login('GET', `/${directory.tenantId}/discovery/v2.0/keys`),
    root.graph('GET', `/applications(appId='${appId}')`),
    root.graph('GET', '/applications'),
    root.graph('GET', `/applications/${id}/owners`),
    root.graph('POST', `/applications/${id}/addPassword`),
    root.graph('POST', `/applications/${id}/removePassword`, { keyId }),
    root.graph('GET', `/servicePrincipals/${principalId}`),
    root.graph('GET', '/servicePrincipals'),
    root.graph('POST', `/servicePrincipals/${principalId}/removePassword`, { keyId }),
    ...['', `/${group}`, `/${group}/members`].map((path) => root.graph('GET', `/groups${path}`)),
    root.graph('POST', `/groups/${group}/members/$ref`),
    ...['', '/$ref'].map((path) => root.graph('DELETE', `/groups/${group}/members/${nobody}${path}`)),
    ...['microsoft.graph.application', 'microsoft.graph.servicePrincipal', nobody].map((path) =>
      root.graph('GET', `/directory/deletedItems/${path}`),
    ),
    root.graph('DELETE', `/directory/deletedItems/${nobody}`),
    root.graph('GET', '/organization'),
    ...[
      'roleDefinitions',
      `roleDefinitions/${nobody}`,
      'roleAssignments',
      `roleAssignments/${nobody}`,
      'permissions',
    ].map((path) => root.arm('GET', `${subscription}/providers/Microsoft.Authorization/${path}`)),
    ...['PUT', 'DELETE'].map((method) =>
      root.arm(method, `${subscription}/providers/Microsoft.Authorization/roleAssignments/${nobody}`),
    ),
    ...['', '/resourceGroups', '/resourceGroups/web'].map((path) =>
      root.arm('GET', `${subscription}${path}`),
    ),
  ])
  await Promise.all(
    ['/metadata/identity/oauth2/token', '/msi/token'].map((path) => fetch(`${directory.metadataUrl}${path}`)),
  )
  const trusts = `/applications/${id}/federatedIdentityCredentials`
  await Promise.all([
    ...['addKey', 'removeKey'].map((path) => root.graph('POST', `/applications/${id}/${path}`)),
    root.graph('PATCH', `/applications/${id}`, { displayName: 'renamed' }),
    ...['GET', 'POST'].map((method) => root.graph(method, trusts)),
    ...['GET', 'PATCH', 'DELETE'].map((method) => root.graph(method, `${trusts}/none`)),
    ...['appRoleAssignedTo', 'appRoleAssignments'].map((path) =>
      root.graph('GET', `/servicePrincipals/${principalId}/${path}`),
    ),
    root.graph('POST', `/servicePrincipals/${principalId}/appRoleAssignedTo`),
    root.graph('DELETE', `/servicePrincipals/${principalId}/appRoleAssignedTo/none`),
  ])
  await root.graph('DELETE', `/servicePrincipals/${principalId}`)
  await root.graph('DELETE', `/applications/${id}`)

  const seen = new Set(directory.journal.entries().map(({ operation }) => operation))

  expect([...seen].toSorted()).toEqual(operations.filter((operation) => operation !== 'unknown').toSorted())
})
