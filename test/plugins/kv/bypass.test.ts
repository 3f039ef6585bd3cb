import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Client } from '../../support/client.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { holder, newMount, put } from './kv-fixture.ts'

const canary = 'no-caller-may-see-this'
const everything = 'create read update patch delete list scan sudo'
/** The paths of version 2 that lead to a secret, with their verbs. */
const verbsOf: Readonly<Record<string, readonly string[]>> = {
  data: ['GET', 'POST', 'PATCH', 'DELETE'],
  metadata: ['GET', 'LIST', 'SCAN', 'POST', 'PATCH', 'DELETE'],
  subkeys: ['GET'],
  delete: ['POST'],
  undelete: ['POST'],
  destroy: ['PUT'],
  restore: ['POST'],
  copy: ['PUT'],
  move: ['POST'],
}
const areas = Object.keys(verbsOf)

let server: TestServer
/** Mounted in the root namespace and in `team/`, with the same secrets. */
let mount: string
/** May do everything, except with `hidden` and below `deep/hidden/`. */
let denied: Client
/** Has rights to `open` only. */
let allowed: Client

beforeAll(async () => {
  server = await startTestServer()
  mount = await newMount(server, 2)
  await server.root.write('sys/namespaces/team')
  await server.root.write(`team/sys/mounts/${mount}`, { type: 'kv-v2' })
  for (const at of [mount, `team/${mount}`])
    for (const key of ['open', 'hidden', 'deep/hidden/x'])
      await put(server.root, `${at}/data/${key}`, { [key]: `old ${canary}` }, { [key]: canary })
  await server.root.write(`${mount}/delete/hidden`, { versions: [1] })
  const rules = [mount, `team/${mount}`].flatMap((at) =>
    [...areas, 'detailed-metadata'].flatMap((area) =>
      ['hidden', 'deep/hidden/*', 'deep/hidden'].map((key) => [`${at}/${area}/${key}`, 'deny']),
    ),
  )
  denied = await holder(server, { '*': everything, ...Object.fromEntries(rules) })
  allowed = await holder(
    server,
    Object.fromEntries(areas.map((area) => [`${mount}/${area}/open`, everything])),
  )
})
afterAll(() => server[Symbol.asyncDispose]())

const stateOf = async (key: string) =>
  Promise.all(
    [mount, `team/${mount}`].flatMap((at) =>
      [`metadata/${key}`, `data/${key}`].map(
        async (path) => (await server.root.read(`${at}/${path}`)).body.data,
      ),
    ),
  )

/** Other texts for a name. The server may take them for the same name, for another one, or for none. */
const spellings = (name: string): string[] => [
  ...[
    name,
    `${name}/`,
    `${name}//`,
    `${name}/.`,
    `${name}/..`,
    `${name}/x/..`,
    `${name}%2F`,
    `${name}%2F%2F`,
  ],
  ...[`${name}%2f.`, `${name}%2F%2E%2E`, `/${name}`, `%2F${name}`, `./${name}`, `%2E/${name}`, `.%2F${name}`],
  ...[`x/../${name}`, `x/%2e%2e/${name}`, `x%2F..%2F${name}`, `x/..%2f${name}`, `../data/${name}`],
  ...[`..%2Fdata%2F${name}`, `%2e%2e/metadata/${name}`, `open/../${name}`, `open%2F..%2F${name}`],
  ...[
    `%${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
    `%25${name.charCodeAt(0).toString(16)}${name.slice(1)}`,
  ],
  ...[
    name.toUpperCase(),
    `${name}%00`,
    `${name}%00open`,
    `%00${name}`,
    `${name}%20`,
    `${name}+`,
    `${name}%0A`,
  ],
  ...[
    `${name};x=1`,
    `${name}%3Bx`,
    `${name}%3F`,
    `${name}%23`,
    `${name}?version=1`,
    `${name}?a=b/../x`,
    `${name}%5C`,
  ],
  ...[`open%5C..%5C${name}`, `open\\..\\${name}`, `%EF%BC%88${name}`, `${name}%E2%80%8B`, `%C0%AF${name}`],
  ...[
    `%C1%A8${name.slice(1)}`,
    `%EF%BD%88${name.slice(1)}`,
    `${name.slice(0, -1)}*`,
    '*',
    '+',
    '%2A',
    '%2B',
    '%',
  ],
  ...[`${name}?list=true`, `${name}?scan=true`, `${name}?list=true&scan=true`, `${name}/?list=true`, `%`],
]

const mountSpellings = (at: string): string[] => [
  ...[
    `/v1//${at}`,
    `/v1/./${at}`,
    `/v1/x/../${at}`,
    `/v1/%2e/${at}`,
    `/V1/${at}`,
    `/v1/${at}/`,
    `/v1/${at}/.`,
  ],
  ...[`/v1/${at}%2F`, `//v1/${at}`, `http://x/v1/${at}`, `/v1/%6bv${at.slice(2)}`, `/v1/K${at.slice(1)}`],
  ...[`/v1/team/../${at}`, `/v1/team%2F..%2F${at}`, `/v1/root/${at}`, `/v1/sys/../${at}`],
]

/** Asks for one path with these verbs. No answer may show a value. */
async function ask(
  client: Client,
  path: string,
  {
    verbs = ['GET', 'POST', 'DELETE'],
    headers = {},
  }: { verbs?: readonly string[]; headers?: Record<string, string> } = {},
): Promise<void> {
  const body = { data: { taken: true }, versions: [1, 2], version: 2, max_versions: 1, from: 'hidden' }
  const answers = await Promise.all(
    verbs.map((verb) =>
      client.call(verb, path, ['POST', 'PUT', 'PATCH'].includes(verb) ? body : undefined, {
        headers: { ...headers, ...(verb === 'PATCH' && { 'Content-Type': 'application/merge-patch+json' }) },
      }),
    ),
  )
  for (const { text, status } of answers) {
    expect(text, `${path} shows a value`).not.toContain(canary)
    expect(status, `${path}: ${text}`).toBeLessThan(500)
  }
}

test.each(areas)('no spelling of a name below %s reaches what a policy denies', async (area) => {
  const before = await stateOf('hidden')

  for (const spelling of spellings('hidden'))
    await ask(denied, `${mount}/${area}/${spelling}`, { verbs: verbsOf[area] ?? [] })

  expect(await stateOf('hidden')).toEqual(before)
})

test('no spelling of a name in a folder reaches what a policy denies', async () => {
  const before = await stateOf('deep/hidden/x')

  for (const spelling of [
    'deep/hidden',
    'deep%2Fhidden',
    'deep/x/../hidden',
    'deep//hidden',
    'deep/./hidden',
  ])
    for (const name of ['x', '%78', 'x/', 'x%2F', '../hidden/x', '%2E%2E/hidden/x', './x', '%2Fx'])
      await ask(denied, `${mount}/data/${spelling}/${name}`)

  expect(await stateOf('deep/hidden/x')).toEqual(before)
})

test('no spelling reads what no policy allows', async () => {
  for (const spelling of spellings('hidden'))
    await ask(allowed, `${mount}/data/${spelling}`, { verbs: ['GET'] })
})

test('no spelling of a mount reaches what a policy denies', async () => {
  const before = await stateOf('hidden')

  for (const at of mountSpellings(mount))
    for (const path of [
      'data/hidden',
      'data%2Fhidden',
      '%64ata/hidden',
      'metadata/../data/hidden',
      'Data/hidden',
    ])
      for (const client of [denied, allowed]) await ask(client, `${at}/${path}`)
  for (const path of [`${mount}%2Fdata%2Fhidden`, `/v1/${mount}/data/hidden/../open/../hidden`])
    for (const client of [denied, allowed]) await ask(client, path)

  expect(await stateOf('hidden')).toEqual(before)
})

test('no way to name a namespace reaches what a policy denies in it', async () => {
  const before = await stateOf('hidden')

  for (const namespace of [
    'team',
    'team/',
    '/team',
    '/team/',
    'TEAM',
    'team%2F',
    'x/../team',
    'root',
    '',
    '/',
  ])
    for (const path of [`${mount}/data/hidden`, `team/${mount}/data/hidden`, `/v1/${mount}/data/x/../hidden`])
      for (const client of [denied, allowed])
        await ask(client, path, { headers: { 'X-Vault-Namespace': namespace } })
  for (const path of [
    `team//${mount}`,
    `team/./${mount}`,
    `TEAM/${mount}`,
    `team%2F${mount}`,
    `%74eam/${mount}`,
  ])
    for (const client of [denied, allowed]) await ask(client, `${path}/data/hidden`)

  expect(await stateOf('hidden')).toEqual(before)
})

test('a token of a namespace reaches nothing outside of it', async () => {
  const inTeam = { headers: { 'X-Vault-Namespace': 'team' } }
  const policy = `path "*" { capabilities = ${JSON.stringify(everything.split(' '))} }`
  await server.root.write('sys/policies/acl/all', { policy }, inTeam)
  const made = await server.root.write('auth/token/create', { policies: ['all'] }, inTeam)
  const client = server.as(String(made.body.auth?.client_token))
  await server.root.delete(`team/${mount}/metadata/hidden`)
  const before = await stateOf('hidden')

  for (const namespace of ['', '/', 'root', '..', 'team/..', 'team/../', '../', 'root/'])
    for (const path of [`${mount}/data/hidden`, `../${mount}/data/hidden`, `%2e%2e/${mount}/data/hidden`])
      await ask(client, path, { headers: { 'X-Vault-Namespace': namespace } })

  expect(await stateOf('hidden')).toEqual(before)
})

test.each([
  'hidden',
  '/hidden',
  'hidden/',
  './hidden',
  'x/../hidden',
  'open/../hidden',
  'HIDDEN',
  '%68idden',
])('a copy or a move from %j shows nothing of a secret that its caller may not read', async (from) => {
  const before = await stateOf('hidden')

  for (const client of [denied, allowed])
    for (const call of ['copy', 'move'])
      for (const versions of ['current', 'all']) {
        const answer = await client.write(`${mount}/${call}/taken`, { from, versions })
        expect([403, 404]).toContain(answer.status)
      }

  expect((await server.root.read(`${mount}/metadata/taken`)).status).toBe(404)
  expect(await stateOf('hidden')).toEqual(before)
})

test.each([
  { rights: 'read', path: 'metadata/deep', query: '?list=true', status: 403 },
  { rights: 'read', path: 'metadata/deep', query: '?list=1', status: 403 },
  { rights: 'read', path: 'metadata/deep/', query: '?list=true', status: 403 },
  { rights: 'read', path: 'metadata/deep', query: '?scan=true', status: 403 },
  { rights: 'list', path: 'metadata/deep', query: '?scan=true', status: 403 },
  { rights: 'scan', path: 'metadata/deep', query: '?list=true', status: 403 },
  { rights: 'list', path: 'metadata/open', query: '', status: 403 },
  { rights: 'list', path: 'metadata/open', query: '?list=false', status: 403 },
  { rights: 'list', path: 'metadata/open', query: '?LIST=true', status: 403 },
  { rights: 'list', path: 'metadata/deep', query: '?list=true', status: 200 },
  { rights: 'list', path: 'data/open', query: '', status: 403 },
  { rights: 'list', path: 'data/open', query: '?list=true', status: 405 },
])('with $rights alone, GET $path$query is $status', async ({ rights, path, query, status }) => {
  const client = await holder(server, { [`${mount}/*`]: rights })
  const override = { 'X-HTTP-Method-Override': 'LIST', 'X-HTTP-Method': 'DELETE' }

  const answer = await client.read(`${mount}/${path}${query}`, { headers: override })

  expect(answer.status).toBe(status)
  expect(answer.text).not.toContain(canary)
})

test.each([
  { rule: 'data/+/x', path: 'data/a%2Fb/x', status: 403 },
  { rule: 'data/+/x', path: 'data/a/x', status: 404 },
  { rule: 'data/+/x', path: 'data/deep/hidden/x', status: 403 },
  { rule: 'data/+', path: 'data/deep/hidden', status: 403 },
  { rule: 'data/op*', path: 'data/open', status: 200 },
  { rule: 'data/op*', path: 'data/op/../hidden', status: 307 },
  { rule: 'data/op*', path: 'data/op%2F..%2Fhidden', status: 400 },
  { rule: 'data/op*', path: 'metadata/open', status: 403 },
  { rule: 'metadata/*', path: 'data/open', status: 403 },
  { rule: 'data/*', path: 'subkeys/open', status: 403 },
  { rule: 'subkeys/*', path: 'data/open', status: 403 },
])('a rule for $rule answers $status to a read of $path', async ({ rule, path, status }) => {
  const client = await holder(server, { [`${mount}/${rule}`]: 'read list' })

  expect((await client.read(`${mount}/${path}`)).status).toBe(status)
})
