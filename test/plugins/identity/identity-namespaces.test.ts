import { expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { aLoginMount, verdict } from './login-mount.ts'

async function aNamespace(server: TestServer, name: string) {
  const { body } = await server.root.write(`sys/namespaces/${name}`, {})
  return { id: String(body.data?.id), headers: { 'X-Vault-Namespace': name } }
}

test('entities and aliases belong to one namespace, which their ids name, and are unknown elsewhere', async () => {
  await using server = await startTestServer()
  const { id: nsId, headers } = await aNamespace(server, 'ns1')
  const { headers: sibling } = await aNamespace(server, 'ns2')
  const mount = await aLoginMount(server, 'jj', { namespace: 'ns1' })
  const { root } = server

  const inside = (await root.write('identity/entity', { name: 'bob' }, { headers })).body.data
  const outside = (await root.write('identity/entity', { name: 'bob' })).body.data
  const alias = (
    await root.write(
      'identity/entity-alias',
      { name: 'x', mount_accessor: mount.accessor, canonical_id: inside?.id },
      { headers },
    )
  ).body.data

  const id = String(inside?.id)
  expect(id.endsWith(`.${nsId}`)).toBe(true)
  expect(String(alias?.id).endsWith(`.${nsId}`)).toBe(true)
  expect((await root.read(`identity/entity/id/${id}`, { headers })).body.data).toMatchObject({
    name: 'bob',
    namespace_id: nsId,
  })
  expect(
    (await root.read(`identity/entity-alias/id/${String(alias?.id)}`, { headers })).body.data,
  ).toMatchObject({ namespace_id: nsId, mount_path: 'auth/jj/' })
  expect((await mount.login('x')).entityId).toBe(id)
  expect((await mount.login('y')).entityId.endsWith(`.${nsId}`)).toBe(true)
  for (const options of [{}, { headers: sibling }]) {
    expect((await root.read(`identity/entity/id/${id}`, options)).status).toBe(404)
    expect((await root.read(`identity/entity-alias/id/${String(alias?.id)}`, options)).status).toBe(404)
    expect(verdict(await root.write(`identity/entity/id/${id}`, { policies: ['p'] }, options))).toBe(
      '400 entity not found from id',
    )
    expect(verdict(await root.write('identity/entity-alias', { id: alias?.id, name: 'z' }, options))).toBe(
      '400 invalid alias ID provided',
    )
    expect((await root.write('identity/lookup/entity', { id }, options)).status).toBe(204)
    expect(
      (
        await root.write(
          'identity/lookup/entity',
          { alias_name: 'x', alias_mount_accessor: mount.accessor },
          options,
        )
      ).status,
    ).toBe(204)
    expect((await root.delete(`identity/entity/id/${id}`, options)).status).toBe(204)
    expect(
      verdict(
        await root.write('identity/entity-alias', { name: 'q', mount_accessor: mount.accessor }, options),
      ),
    ).toBe('403 matching mount is in a different namespace than request')
  }
  expect(
    verdict(await root.write('identity/entity/merge', { to_entity_id: outside?.id, from_entity_ids: [id] })),
  ).toBe('400 entity id to merge from is invalid')
  expect((await root.list('identity/entity/name', { headers: sibling })).status).toBe(404)
  expect(Object.values((await root.list('identity/entity/id')).body.data?.keys ?? {})).toEqual([outside?.id])
  expect((await root.read(`identity/entity/id/${id}`, { headers })).body.data).toMatchObject({ policies: [] })
})

test('everything is unchanged after a restart', async () => {
  await using folder = await temporaryFolder()
  const settings = {
    STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
    SEAL_KEY_FILE: folder.file('seal.key'),
  }
  const seen = async (server: TestServer, id: string) => ({
    entity: (await server.root.read(`identity/entity/id/${id}`)).body.data,
    aliases: (await server.root.list('identity/entity-alias/id')).body.data,
    names: (await server.root.list('identity/entity/name')).body.data,
  })
  let before: Awaited<ReturnType<typeof seen>>
  let ids: { target: string; merged: string; token: string }
  {
    await using server = await startTestServer({ settings })
    const a = await aLoginMount(server, 'a')
    const b = await aLoginMount(server, 'b')
    const target = await a.login('ann')
    const merged = await b.login('bea')
    await server.root.write(`identity/entity/id/${target.entityId}`, {
      name: 'Ann',
      metadata: { k: 'v' },
      policies: ['p'],
    })
    await server.root.write('identity/entity/merge', {
      to_entity_id: target.entityId,
      from_entity_ids: [merged.entityId],
    })
    ids = { target: target.entityId, merged: merged.entityId, token: merged.token }
    before = await seen(server, ids.target)
  }

  await using server = await startTestServer({ settings })

  expect(await seen(server, ids.target)).toEqual(before)
  expect(before.entity).toMatchObject({ name: 'Ann', merged_entity_ids: [ids.merged] })
  expect((await server.as(ids.token).read('auth/token/lookup-self')).body.data).toMatchObject({
    entity_id: ids.merged,
    identity_policies: ['p'],
  })
  expect((await server.root.write('identity/lookup/entity', { name: 'ANN' })).body.data?.id).toBe(ids.target)
})
