import { afterAll, beforeAll, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { verdict } from './login-mount.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const names = [
  'ann@example.com',
  'Ann Smith',
  'org/team',
  'a',
  'x+y',
  'ÄRGER 1',
  '名前',
  '-dash-',
  'a%20b',
  'q?x=1',
  'h#h',
  'semi;colon',
  "o'neil",
  '"',
  'a:b',
  '*',
  '~',
  'c\\d',
]

test.each(['entity', 'group'].flatMap((kind) => names.map((name) => [kind, name] as const)))(
  '%s %j is written, read and deleted by its name in the path',
  async (kind, name) => {
    const path = `identity/${kind}/name/${name.split('/').map(encodeURIComponent).join('/')}`

    const made = await server.root.write(path, { policies: 'p' })
    const updated = await server.root.write(path, { metadata: { k: 'v' } })
    const read = (await server.root.read(path)).body.data
    const deleted = await server.root.delete(path)

    expect(made).toMatchObject({ status: 200, body: { data: { name } } })
    expect(updated.status).toBe(204)
    expect(read).toMatchObject({ id: made.body.data?.id, name, policies: ['p'], metadata: { k: 'v' } })
    expect(deleted.status).toBe(204)
    expect((await server.root.read(path)).status).toBe(404)
    expect((await server.root.read(`identity/${kind}/id/${String(made.body.data?.id)}`)).status).toBe(404)
  },
)

test.each(['entity', 'group'])('a name of invisible characters is not a name of a %s', async (kind) => {
  for (const name of ['%20', '%20%20']) {
    expect(verdict(await server.root.write(`identity/${kind}/name/${name}`, {}))).toBe(
      `400 empty ${kind} name`,
    )
    expect((await server.root.read(`identity/${kind}/name/${name}`)).status).toBe(404)
    expect((await server.root.delete(`identity/${kind}/name/${name}`)).status).toBe(204)
  }
})

test.each(['entity', 'group'])('other verbs on a %s by name are 405', async (kind) => {
  const headers = { 'Content-Type': 'application/merge-patch+json' }
  for (const answer of [
    await server.root.list(`identity/${kind}/name/none`),
    await server.root.call('PATCH', `identity/${kind}/name/none`, {}, { headers }),
  ])
    expect(verdict(answer)).toBe('405 1 error occurred:\n\t* unsupported operation\n\n')
})

test.each(['entity', 'group'])(
  'the name in the path of a %s overrides the one in the body, with a warning on creation',
  async (kind) => {
    const { body } = await server.root.write(`identity/${kind}/name/real`, { name: 'other' })

    expect(body.data?.name).toBe('real')
    expect(body.warnings).toEqual([
      "Endpoint replaced the value of these parameters with the values captured from the endpoint's path: [name]",
    ])
    expect((await server.root.read(`identity/${kind}/name/other`)).status).toBe(404)
  },
)

test.each(['entity', 'group'])(
  'a rule that denies a name of a %s denies each spelling of it',
  async (kind) => {
    await server.root.write(`identity/${kind}/name/admin`, {})
    await server.root.write(`sys/policies/acl/all-but-one-${kind}`, {
      policy: `path "identity/${kind}/name/*" { capabilities = ["read", "update", "delete"] } path "identity/${kind}/name/admin" { capabilities = ["deny"] }`,
    })
    const { body } = await server.root.write('auth/token/create', { policies: [`all-but-one-${kind}`] })
    const some = server.as(String(body.auth?.client_token))

    for (const name of ['admin', 'ADMIN', '%20admin', 'admin%20', '%EF%BD%81dmin', '%61dmin']) {
      expect((await some.write(`identity/${kind}/name/${name}`, { policies: 'more' })).status, name).toBe(403)
      expect((await some.read(`identity/${kind}/name/${name}`)).status, name).toBe(403)
      expect((await some.delete(`identity/${kind}/name/${name}`)).status, name).toBe(403)
    }
    expect((await some.write(`identity/${kind}/name/admin2`, {})).status).toBe(200)
  },
)
