import { expect, test } from 'vitest'
import { FakeClock } from '../../support/fake-clock.ts'
import type { TestServer } from '../../support/start-server.ts'
import { startTestServer } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'

const signer = aSigner('ES256')

async function move(server: TestServer, from: string, to: string): Promise<void> {
  const { body } = await server.root.write('sys/remount', { from, to })
  const status = `sys/remount/status/${String(body.data?.migration_id)}`
  await expect
    .poll(async () => (await server.root.read(status)).body.data?.migration_info?.status)
    .toBe('success')
}

async function login(server: TestServer, path: string, groups: readonly string[] = []) {
  const jwt = signer.sign({
    sub: 'alice',
    aud: 'gate',
    groups,
    exp: 4_000_000_000,
    iat: 1_000_000_000,
    nbf: 1_000_000_000,
  })
  const { body, status } = await server.anonymous.write(`${path}/login`, { role: 'r', jwt })
  return {
    status,
    entity: String(body.auth?.entity_id),
    policies: body.auth?.identity_policies,
    token: String(body.auth?.client_token),
  }
}

test('people of a mount that moved to another namespace are new entities there, and the old ones again when it returns', async () => {
  await using server = await startTestServer()
  const { root } = server
  const nsId = String((await root.write('sys/namespaces/ns1', {})).body.data?.id)
  await root.write('sys/auth/jj', { type: 'jwt' })
  await root.write('auth/jj/config', { jwt_validation_pubkeys: [signer.pem] })
  await root.write('auth/jj/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    groups_claim: 'groups',
  })
  const accessor = String((await root.read('sys/auth')).body.data?.['jj/']?.accessor)
  const group = (await root.write('identity/group', { name: 'g', type: 'external', policies: 'of-group' }))
    .body.data?.id
  const alias = (
    await root.write('identity/group-alias', { name: 'eng', mount_accessor: accessor, canonical_id: group })
  ).body.data?.id
  const first = await login(server, 'auth/jj', ['eng'])
  await root.write(`identity/entity/id/${first.entity}`, { policies: 'powerful' })

  await move(server, 'auth/jj', 'ns1/auth/jj')
  const inside = await login(server, 'ns1/auth/jj', ['eng'])
  const ofRoot = (await root.read(`identity/entity/id/${first.entity}`)).body.data
  const groupAlias = (await root.read(`identity/group-alias/id/${String(alias)}`)).body.data
  const here = (await root.write('ns1/identity/group-alias', { name: 'eng', mount_accessor: accessor })).body
    .data?.canonical_id
  const again = await login(server, 'ns1/auth/jj', ['eng'])
  await move(server, 'ns1/auth/jj', 'auth/jj')
  const back = await login(server, 'auth/jj', ['eng'])

  expect(first.policies).toEqual(['of-group'])
  expect(inside).toMatchObject({ status: 200, policies: undefined })
  expect(inside.entity).toMatch(new RegExp(`\\.${nsId}$`))
  expect((await root.read(`ns1/identity/entity/id/${inside.entity}`)).body.data).toMatchObject({
    direct_group_ids: [here],
  })
  expect(again.entity).toBe(inside.entity)
  // a mount of another namespace does not exist here
  expect(ofRoot).toMatchObject({
    direct_group_ids: [group],
    aliases: [{ name: 'alice', mount_accessor: accessor }],
  })
  expect([ofRoot?.aliases?.[0]?.mount_path, groupAlias?.mount_path, groupAlias?.mount_type]).toEqual([
    undefined,
    undefined,
    undefined,
  ])
  expect(back).toMatchObject({ entity: first.entity, policies: ['of-group', 'powerful'] })
})

test.each(['service', 'batch'])(
  'the clock, which may be set, does not decide which %s tokens end with a move',
  async (token_type) => {
    const clock = new FakeClock()
    await using server = await startTestServer({ clock })
    const { root } = server
    await root.write('sys/auth/jj', { type: 'jwt' })
    await root.write('auth/jj/config', { jwt_validation_pubkeys: [signer.pem] })
    await root.write('auth/jj/role/r', {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
      token_type,
    })
    const isAccepted = async ({ token }: { token: string }) =>
      (await server.as(token).read('auth/token/lookup-self')).status === 200

    const before = await login(server, 'auth/jj')
    clock.advance(-3600)
    await move(server, 'auth/jj', 'auth/kk')
    clock.advance(-3600)
    const after = await login(server, 'auth/kk')

    expect([await isAccepted(before), await isAccepted(after)]).toEqual([false, true])
    await move(server, 'auth/kk', 'auth/jj')
    expect([await isAccepted(before), await isAccepted(after)]).toEqual([false, false])
  },
)
