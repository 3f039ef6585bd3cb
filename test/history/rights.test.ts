import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { aLoginMount, type LoginMount } from '../plugins/identity/login-mount.ts'
import { errors, notAllowed } from '../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

// Holes that servers of this kind have had: each test is one that must not come back.

let server: TestServer
let mount: LoginMount
let made = 0

beforeAll(async () => {
  server = await startTestServer()
  mount = await aLoginMount(server, 'jwt')
})
afterAll(() => server[Symbol.asyncDispose]())

const stanza = (path: string, ...capabilities: string[]) =>
  `path ${JSON.stringify(path)} { capabilities = ${JSON.stringify(capabilities)} }\n`

async function policy(text: string): Promise<string> {
  const name = `p${++made}`
  expect((await server.root.write(`sys/policies/acl/${name}`, { policy: text })).status).toBe(204)
  return name
}

/** A logged-in person whose entity has these rules. */
async function person(text: string, name = `person-${++made}`) {
  const { client, entityId, token } = await mount.login(name)
  await server.root.write(`identity/entity/id/${entityId}`, { policies: [await policy(text)] })
  return { client, entityId, token, name }
}

async function holder(...policies: string[]) {
  const { body } = await server.root.write('auth/token/create', { policies })
  return server.as(String(body.auth?.client_token))
}

describe('policy names', () => {
  const others = [
    'ＲＯＯＴ',
    'ｒｏｏｔ',
    'r\u200boot',
    '\u200broot',
    'root\u0000',
    'rооt',
    'root/',
    './root',
    'root\u00ad',
    'ⓡⓞⓞⓣ',
    'röot',
    'root*',
    '+',
  ]

  test.each(['root', 'ROOT', 'Root ', ' rOOT\t', '\u00a0root\u3000'])(
    '%j is the policy root: only root may give it, and nobody writes it',
    async (name) => {
      const client = await holder(
        await policy(stanza('*', 'create', 'read', 'update', 'delete', 'list', 'sudo')),
      )
      const encoded = encodeURIComponent(name)

      for (const answer of [
        await client.write('auth/token/create', { policies: [name] }),
        await client.write('auth/token/create-orphan', { policies: ['default', name] }),
        await client.write('identity/entity', { policies: [name] }),
        await client.write('identity/group', { policies: [name] }),
      ]) {
        expect(answer.status).toBe(400)
        expect(answer.text).toContain('root')
      }
      // an unprintable blank is refused before the name is checked
      for (const answer of [
        await client.write(`sys/policies/acl/${encoded}`, { policy: stanza('a', 'read') }),
        await client.write(`sys/policy/${encoded}`, { policy: stanza('a', 'read') }),
        await client.delete(`sys/policies/acl/${encoded}`),
      ]) {
        expect(answer.status).toBe(400)
      }
      expect((await server.root.read('sys/policies/acl/root')).body.data?.policy).toBe('')
    },
  )

  test.each(others)('%j is an ordinary name and grants nothing', async (name) => {
    const client = await holder(name)

    const self = await client.read('auth/token/lookup-self')
    expect(self.body.data?.policies).not.toContain('root')
    expect((await client.read('sys/mounts')).body).toEqual(notAllowed)
    expect(
      (await client.write('sys/capabilities-self', { path: 'sys/mounts' })).body.data?.capabilities,
    ).toEqual(['deny'])
    expect((await client.write('auth/token/create', { policies: ['root'] })).status).toBe(403)
  })

  test('names of roles, entities and groups do not lead to root either', async () => {
    const names = ['ＲＯＯＴ', 'r\u200boot', 'rооt']
    await server.root.write('auth/token/roles/odd', { allowed_policies: [...names, 'root'] })
    const plain = await person(stanza('auth/token/create/odd', 'update'))
    await server.root.write(`identity/entity/id/${plain.entityId}`, {
      policies: [...names, await policy(stanza('auth/token/create/odd', 'update'))],
    })
    await server.root.write('identity/group', {
      name: `odd-${++made}`,
      policies: names,
      member_entity_ids: [plain.entityId],
    })

    const answers = [
      await plain.client.write('auth/token/create/odd', {}),
      await plain.client.write('auth/token/create/odd', { policies: ['root'] }),
    ]

    for (const { body } of answers) expect(body.auth?.token_policies ?? []).not.toContain('root')
    expect((await plain.client.read('sys/mounts')).body).toEqual(notAllowed)
    expect((await plain.client.read('sys/internal/ui/resultant-acl')).body.data?.root).toBe(false)
  })
})

test.each([
  { allowed: 'cubbyhole/*', denied: 'cubbyhole/private/*', path: 'cubbyhole/private' },
  { allowed: 'cubbyhole/*', denied: 'cubbyhole/private/', path: 'cubbyhole/private' },
  { allowed: 'cubbyhole/*', denied: 'cubbyhole/private', path: 'cubbyhole/private' },
  { allowed: 'cubbyhole/+/*', denied: 'cubbyhole/private/*', path: 'cubbyhole/private' },
  { allowed: 'cubbyhole/*', denied: 'cubbyhole/private/+/', path: 'cubbyhole/private/in' },
  { allowed: '*', denied: 'cubbyhole/private/+/x/', path: 'cubbyhole/private/a/x' },
])(
  'a list of $path, with $allowed allowed, stops at the denial of $denied',
  async ({ allowed, denied, path }) => {
    const client = await holder(
      await policy(stanza(allowed, 'list', 'read', 'create', 'update') + stanza(denied, 'deny')),
    )

    const spellings = [
      () => client.call('LIST', path),
      () => client.call('LIST', `${path}/`),
      () => client.list(path),
      () => client.list(`${path}/`),
    ]

    for (const spelling of spellings) expect((await spelling()).body).toEqual(notAllowed)
    expect((await client.list('cubbyhole/other')).status).toBe(404)
  },
)

describe('values in path templates', () => {
  const secrets = 'auth/token/roles'
  const rules = stanza(`${secrets}/{{identity.entity.metadata.team}}`, 'read') + stanza('sys/auth', 'read')

  test.each(['*', 'te*', '+', 'a/b', 'x/../team-b', '/', 'team-b*', '+/+', 'a/*'])(
    'the value %j grants nothing, and the rest of the policy stays',
    async (team) => {
      await server.root.write(`${secrets}/team-b`, {})
      const { client, entityId } = await person(rules)
      await server.root.write(`identity/entity/id/${entityId}`, { metadata: { team } })

      for (const path of [`${secrets}/team-b`, `${secrets}/a/b`, `${secrets}/x/../team-b`])
        expect((await client.read(path)).status, path).not.toBe(200)
      expect(
        (await client.write('sys/capabilities-self', { path: `${secrets}/team-b` })).body.data?.capabilities,
      ).toEqual(['deny'])
      expect((await client.read('sys/auth')).status).toBe(200)
    },
  )

  test('the value .. does not lead to a parent path', async () => {
    const { client, entityId } = await person(
      stanza('auth/token/{{identity.entity.metadata.team}}/roles/*', 'read', 'list') +
        stanza('sys/auth', 'read'),
    )
    await server.root.write(`identity/entity/id/${entityId}`, { metadata: { team: '..' } })

    for (const path of [
      'auth/token/../roles/team-b',
      'auth/token/%2e%2e/roles/team-b',
      'auth/roles/team-b',
      `${secrets}/team-b`,
    ]) {
      expect((await client.read(path)).status, path).not.toBe(200)
    }
  })

  test('choosing a name at the provider does not choose a path', async () => {
    await server.root.write(`${secrets}/team-b`, {})
    const byName = stanza(`${secrets}/{{identity.entity.aliases.${mount.accessor}.name}}`, 'read')
    for (const name of ['*', '+', 'team-*', '../roles/team-b', 'x/team-b']) {
      const { client } = await person(byName, `${name}`)
      expect((await client.read(`${secrets}/team-b`)).body, name).toEqual(notAllowed)
    }
    const { client } = await person(byName, 'team-b')
    expect((await client.read(`${secrets}/team-b`)).status).toBe(200)
  })
})

describe('identity writes never raise the rights of their caller', () => {
  const mayWriteIdentity = stanza('identity/*', 'create', 'read', 'update', 'delete', 'list')

  test('nobody can assign root to themselves, in any spelling', async () => {
    const { client, entityId } = await person(mayWriteIdentity)

    for (const name of ['root', 'ROOT', ' Root ']) {
      expect((await client.write('identity/entity', { id: entityId, policies: [name] })).body).toEqual(
        errors('policies cannot contain root'),
      )
      expect(
        (await client.write('identity/group', { policies: [name], member_entity_ids: [entityId] })).body,
      ).toEqual(errors('policies cannot contain root'))
    }
    expect((await client.read('sys/internal/ui/resultant-acl')).body.data?.root).toBe(false)
  })

  test('an entity cannot become that of a root token, or of nobody', async () => {
    const { client, entityId } = await person(mayWriteIdentity)

    await client.write('identity/entity', { id: '', name: 'root', policies: ['default'] })
    const own = {
      id: entityId,
      name: 'root',
      namespace_id: 'root',
      aliases: [{ name: 'root' }],
      group_ids: ['x'],
      merged_entity_ids: [''],
    }
    expect((await client.write('identity/entity', own)).status).toBe(400)
    expect((await client.write('identity/entity', { ...own, name: `root-${made}` })).status).toBe(204)

    expect((await client.read('sys/mounts')).body).toEqual(notAllowed)
    expect((await server.root.read('auth/token/lookup-self')).body.data?.entity_id).toBe('')
  })

  test('the right to write aliases alone does not allow taking over anybody', async () => {
    const boss = await person(stanza('sys/auth', 'read'), `boss-${++made}`)
    const clerk = await person(
      stanza('identity/entity-alias', 'create', 'update') +
        stanza('identity/entity-alias/id/*', 'read', 'update'),
    )

    const taken = await clerk.client.write('identity/entity-alias', {
      name: boss.name,
      mount_accessor: mount.accessor,
      canonical_id: clerk.entityId,
    })

    expect(taken.status).toBe(400)
    expect((await clerk.client.read('sys/auth')).body).toEqual(notAllowed)
    expect((await mount.login(boss.name)).entityId).toBe(boss.entityId)
  })

  test('a disabled entity can write nothing, not even to enable itself', async () => {
    const { client, entityId } = await person(mayWriteIdentity)
    await server.root.write(`identity/entity/id/${entityId}`, { disabled: true })

    const release = await client.write('identity/entity', { id: entityId, disabled: false })

    expect(release.body).toEqual(errors('permission denied'))
    expect((await server.root.read(`identity/entity/id/${entityId}`)).body.data?.disabled).toBe(true)
  })

  test('a group in a namespace grants nothing in its parent', async () => {
    const { client, entityId } = await person(
      stanza('below/identity/*', 'create', 'update', 'read') +
        stanza('below/sys/policies/acl/*', 'create', 'update'),
    )
    await server.root.write('sys/namespaces/below')

    expect(
      (
        await client.write('below/sys/policies/acl/mine', {
          policy: stanza('*', 'read', 'sudo', 'list') + stanza('../*', 'read'),
        })
      ).status,
    ).toBe(204)
    const group = await client.write('below/identity/group', {
      name: 'mine',
      policies: ['mine'],
      member_entity_ids: [entityId],
    })

    expect(group.status).toBe(200)
    expect((await client.read('below/sys/auth')).status).toBe(200)
    expect((await client.read('sys/auth')).body).toEqual(notAllowed)
    expect((await client.read('sys/mounts')).body).toEqual(notAllowed)
  })
})
