import { expect, test } from 'vitest'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { actAs, assignmentOf, makeCredential, newAssignmentPath } from './client.ts'

const kinds = (things: readonly { kind: string }[]) => things.map(({ kind }) => kind).toSorted()

test('the inventory has objects created over the API, not fixtures', async () => {
  await using directory = await startDirectory()
  directory.admin.addPassword(directory.admin.addApplication({ displayName: 'by hand' }).id)
  const empty = directory.inventory()
  const root = await actAs(directory)
  const { principalId, appId, secret } = await makeCredential(root)
  await root.arm('PUT', newAssignmentPath(directory), assignmentOf(directory, principalId))
  await root.graph('POST', `/groups/${directory.groupIds.foo}/members/$ref`, {
    '@odata.id': `${directory.directoryUrl}/v1.0/directoryObjects/${principalId}`,
  })

  const things = directory.inventory()

  expect(empty).toEqual([])
  expect(kinds(things)).toEqual([
    'application',
    'group-member',
    'password',
    'role-assignment',
    'service-principal',
  ])
  expect(new Set(things.map(({ clientId }) => clientId))).toEqual(new Set([appId]))
  expect(things.find(({ kind }) => kind === 'password')).toMatchObject({ secret, deleted: false })
})

test('debris is what nobody uses: neither used nor deleted objects, but assignments of deleted ones', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const held = await makeCredential(root)
  const dropped = await makeCredential(root)
  await root.arm('PUT', newAssignmentPath(directory), assignmentOf(directory, dropped.principalId))

  const before = directory.debris({ clientIds: [held.appId], secrets: [held.secret] })
  await root.graph('DELETE', `/applications/${dropped.id}`)
  await root.graph('DELETE', `/directory/deletedItems/${dropped.id}`)
  await root.graph('DELETE', `/directory/deletedItems/${dropped.principalId}`)
  const after = directory.debris({ clientIds: [held.appId], secrets: [held.secret] })

  expect(kinds(before)).toEqual(['application', 'password', 'role-assignment', 'service-principal'])
  expect(after).toMatchObject([{ kind: 'role-assignment', clientId: null }])
})

test('an unknown password is debris, also on an application in use and on a fixture', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const held = await makeCredential(root)
  await root.graph('POST', `/applications/${held.id}/addPassword`, {
    passwordCredential: { displayName: 'stray' },
  })
  await root.graph('POST', `/applications/${directory.rootApplicationId}/addPassword`, {
    passwordCredential: { displayName: 'stray root' },
  })

  const debris = directory.debris({ clientIds: [held.appId], secrets: [held.secret] })

  expect(debris.map(({ name }) => name).toSorted()).toEqual(['stray', 'stray root'])
})

test('the controls remove and purge anything by its id', async () => {
  await using directory = await startDirectory()
  const root = await actAs(directory)
  const { id, principalId, keyId } = await makeCredential(root)
  const path = newAssignmentPath(directory)
  await root.arm('PUT', path, assignmentOf(directory, principalId))

  for (const gone of [keyId, path, principalId, id]) directory.admin.remove(gone)
  const binned = directory.inventory()
  for (const gone of [id, principalId]) directory.admin.purge(gone)

  expect(binned).toMatchObject([
    { kind: 'application', deleted: true },
    { kind: 'service-principal', deleted: true },
  ])
  expect(directory.inventory()).toEqual([])
  expect(() => directory.admin.remove(id)).toThrow(`nothing has the id '${id}'`)
  expect(() => directory.admin.purge(id)).toThrow(`nothing deleted has the id '${id}'`)
})
