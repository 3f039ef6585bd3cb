import { beforeAll, describe, expect, test } from 'vitest'
import { notAllowed } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

let server: TestServer
let made = 0

const stanza = (path: string, ...capabilities: string[]) =>
  `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(capabilities)} }\n`
const all = ['create', 'read', 'update', 'delete', 'list', 'sudo']
const role = { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' }
const text = 'path "x" { capabilities = ["read"] }'

beforeAll(async () => {
  server = await startTestServer()
  await server.root.write('auth/jwt/role/prod', role)
  for (const name of ['secret', 'team/a'])
    await server.root.write(`sys/policies/acl/${name}`, { policy: text })
  await server.root.write('sys/mounts/kept', { type: 'cloud' })
  await server.root.write('sys/auth/kept', { type: 'jwt' })
  await server.root.write('sys/namespaces/ns')
  return () => server[Symbol.asyncDispose]()
})

async function holder(rules: string) {
  const name = `p${++made}`
  expect((await server.root.write(`sys/policies/acl/${name}`, { policy: rules })).status).toBe(204)
  return server.as(
    String((await server.root.write('auth/token/create', { policies: [name] })).body.auth?.client_token),
  )
}

/**
 * Spellings of one object: the folder in which everything is allowed, the one path that a rule names, and the
 * ways to write it.
 */
const things = [
  { folder: 'auth/jwt/role/', path: 'auth/jwt/role/prod', spellings: ['prod', 'PROD', 'Prod', '%50rod'] },
  {
    folder: 'sys/policies/acl/',
    path: 'sys/policies/acl/secret',
    spellings: ['secret', 'SECRET', '%20secret', 'secret%20'],
  },
  { folder: 'sys/policy/', path: 'sys/policy/secret', spellings: ['Secret', 'secret%20'] },
  {
    folder: 'sys/mounts/',
    path: 'sys/mounts/kept',
    spellings: ['kept', 'kept/', '%2Fkept', '%2Fkept/', 'kept%2F', 'kept/x'],
  },
  {
    folder: 'sys/mounts/',
    path: 'sys/mounts/kept/tune',
    spellings: ['kept/tune', '%2Fkept/tune', 'kept%2F/tune', '%2Fkept%2F%2Ftune'],
  },
  {
    folder: 'sys/mounts/',
    path: 'sys/mounts/auth/kept',
    spellings: ['auth/kept', 'auth/kept/', '%2Fauth/kept', 'auth/kept/x'],
  },
  { folder: 'sys/auth/', path: 'sys/auth/kept', spellings: ['kept', 'kept/', '%2Fkept', 'kept%2F'] },
  { folder: 'sys/namespaces/', path: 'sys/namespaces/ns', spellings: ['ns', 'ns/', 'ns%2F', 'n%73/'] },
].flatMap(({ spellings, ...thing }) =>
  spellings.map((spelling) => ({ ...thing, asked: thing.folder + spelling })),
)

describe('the rule about a thing holds in each spelling of it', () => {
  test.each(things)('$asked is refused if $path is denied', async ({ folder, path, asked }) => {
    const caller = await holder(stanza(`${folder}*`, ...all) + stanza(path, 'deny'))

    expect((await caller.read(asked)).body).toEqual(notAllowed)
    // nothing below a mount can be deleted or written, and a write to a folder is refused before rules are
    // checked
    if (asked.endsWith('/x')) return
    expect((await caller.delete(asked)).body).toEqual(notAllowed)
    if (!/(?:\/|%2F)$/.test(asked))
      expect((await caller.write(asked, { ...role, policy: text })).body).toEqual(notAllowed)
  })

  test.each(things)(
    '$asked is refused if only reading is allowed on $path',
    async ({ folder, path, asked }) => {
      const caller = await holder(stanza(`${folder}*`, ...all) + stanza(path, 'read', 'sudo'))

      expect((await caller.read(asked)).status).not.toBe(403)
      if (!asked.endsWith('/x')) expect((await caller.delete(asked)).body).toEqual(notAllowed)
    },
  )

  const named = things.filter(({ asked }) => !asked.endsWith('/x'))
  test.each(named)('the capabilities at $asked are those at $path', async ({ folder, path, asked }) => {
    const denied = await holder(stanza(`${folder}*`, ...all) + stanza(path, 'deny'))
    const reader = await holder(stanza(`${folder}*`, ...all) + stanza(path, 'read', 'sudo'))
    const shown = async (caller: typeof denied, at = decodeURIComponent(asked)) =>
      (await caller.write('sys/capabilities-self', { paths: [at] })).body.data?.['capabilities']

    expect(await shown(denied)).toEqual(['deny'])
    expect(await shown(reader)).toEqual(['read', 'sudo'])
    expect(await shown(reader, `${folder}another`)).toEqual(all.toSorted())
  })

  test('capabilities in a namespace below are asked for from above with its path', async () => {
    const rules = stanza('auth/jwt/role/*', ...all) + stanza('auth/jwt/role/Prod', 'deny')
    const inside = { headers: { 'X-Vault-Namespace': 'ns' } }
    await server.root.write('sys/auth/jwt', { type: 'jwt' }, inside)
    await server.root.write('sys/policies/acl/inner', { policy: rules }, inside)
    const made = await server.root.write('auth/token/create', { policies: ['inner'] }, inside)
    const token = made.body.auth?.client_token
    const paths = ['ns/auth/jwt/role/pROD', 'ns/auth/jwt/role/x', 'auth/jwt/role/x']

    const { body } = await server.root.write('sys/capabilities', { token, paths })

    expect(body.data).toEqual({
      'ns/auth/jwt/role/pROD': ['deny'],
      'ns/auth/jwt/role/x': all.toSorted(),
      'auth/jwt/role/x': ['deny'],
    })
  })

  test('a protected path needs sudo from that rule too', async () => {
    const caller = await holder(stanza('sys/auth/*', ...all) + stanza('sys/auth/kept', 'read'))

    for (const asked of ['kept', 'kept/', '%2Fkept'])
      expect((await caller.read(`sys/auth/${asked}`)).body).toEqual(notAllowed)
    expect((await caller.read('sys/auth/token')).status).toBe(200)
  })

  test.each(['team', 'team/', 'TEAM', 'TEAM/', 'team/%2F', 'team%2F%2F%2F', '%20team'])(
    'a list of the policies of %s is refused',
    async (asked) => {
      for (const rule of ['sys/policies/acl/team', 'sys/policies/acl/team/', 'sys/policies/acl/team/*']) {
        const caller = await holder(stanza('sys/policies/acl/*', ...all) + stanza(rule, 'deny'))
        expect((await caller.call('LIST', `sys/policies/acl/${asked}`)).body, rule).toEqual(notAllowed)
      }
    },
  )

  test.each(['%20', '%2F', '%2F%2F'])('a list of the policies of %s is one of all', async (asked) => {
    const caller = await holder(stanza('sys/policies/acl/*', ...all) + stanza('sys/policies/acl', 'deny'))

    expect((await caller.call('LIST', `sys/policies/acl/${asked}`)).body).toEqual(notAllowed)
  })

  test('the same holds in a namespace below that of the rule', async () => {
    await server.root.write('sys/mounts/deep', { type: 'cloud' }, { headers: { 'X-Vault-Namespace': 'ns' } })
    const caller = await holder(stanza('ns/sys/mounts/*', ...all) + stanza('ns/sys/mounts/deep', 'deny'))

    for (const asked of [
      'ns/sys/mounts/deep',
      'ns/sys/mounts/deep/',
      'ns/sys/mounts/%2Fdeep',
      'ns/sys/mounts/deep/x',
    ]) {
      expect((await caller.read(asked)).body, asked).toEqual(notAllowed)
    }
  })
})

describe('another spelling is judged as it is written', () => {
  test.each(['auth/jwt/role/Fresh', 'sys/policies/acl/Fresh'])(
    '%s is refused unless a nearer rule applies',
    async (path) => {
      const caller = await holder(stanza('auth/jwt/role/*', ...all) + stanza('sys/policies/acl/*', ...all))

      expect((await caller.write(path, { ...role, policy: text })).status).toBeLessThan(300)
      expect((await caller.read(path)).status).toBe(200)
    },
  )

  test('a rule for the written form takes precedence over one for all', async () => {
    const caller = await holder(
      stanza('sys/policies/acl/*', 'read') + stanza('sys/policies/acl/Own', 'update'),
    )

    expect((await caller.write('sys/policies/acl/Own', { policy: text })).status).toBe(200)
    expect((await caller.write('sys/policies/acl/own', { policy: text })).body).toEqual(notAllowed)
  })

  test('a grant for the name does not apply to another spelling of it', async () => {
    const caller = await holder(
      stanza('sys/policies/acl/*', 'read') + stanza('sys/policies/acl/secret', 'update'),
    )

    expect((await caller.write('sys/policies/acl/SECRET', { policy: text })).body).toEqual(notAllowed)
  })
})
