import { expect, test } from 'vitest'
import { type CloudHouse, startCloudHouse } from './cloud-house.ts'

const foo = '[{"group_name":"foo"}]'
const alive = ({ directory }: CloudHouse) => directory.inventory().filter(({ deleted }) => !deleted)

test('disabling a mount deletes its roles and the applications they keep', async () => {
  await using house = await startCloudHouse()
  await house.root.write('cloud/roles/kept', { persist_app: true, cloud_groups: foo })
  await house.root.write('cloud/roles/plain', { cloud_groups: foo })
  await house.root.write('azure/roles/other', { persist_app: true, azure_groups: foo })
  const before = alive(house).length

  expect((await house.root.delete('sys/mounts/cloud')).status).toBe(204)

  expect(alive(house).length).toBe(before / 2)
  expect((await house.root.read('azure/roles/other')).status).toBe(200)
  await house.root.write('sys/mounts/cloud', { type: 'cloud' })
  expect((await house.root.list('cloud/roles')).status).toBe(404)
})

test.each(['sys/mounts/cloud', 'cloud/config'])('with DELETE %s goes a root secret that was about to follow another one', async (path) => {
  await using house = await startCloudHouse()
  await house.root.write('cloud/rotate-root')
  const passwords = () => alive(house).filter(({ kind }) => kind === 'password')
  expect(passwords()).toHaveLength(1)

  expect((await house.root.delete(path)).status).toBe(204)
  // without a configuration it waits for the next one
  if (path === 'cloud/config') {
    expect((await house.root.read('cloud/debris')).body.data?.['objects']).toMatchObject([{ kind: 'rootPassword' }])
    await house.root.write('cloud/config', house.config())
    await house.root.write('cloud/reap', { dry_run: false })
  }

  expect(passwords()).toEqual([])
  expect((await house.root.read('azure/config/check')).body.data?.['checks']).toContainEqual(expect.objectContaining({ name: 'sign_in', ok: true }))
})

test('deleting a namespace disables its mounts', async () => {
  await using house = await startCloudHouse()
  await house.root.write('sys/namespaces/team', {})
  await house.root.write('team/sys/mounts/clouds', { type: 'azure' })
  await house.root.write('team/clouds/config', house.config())
  await house.root.write('team/clouds/roles/kept', { persist_app: true, azure_groups: foo })
  expect(alive(house)).not.toEqual([])

  await house.root.delete('sys/namespaces/team')

  await expect.poll(async () => (await house.root.read('sys/namespaces/team')).status).toBe(404)
  expect(alive(house)).toEqual([])
})

test('an application that cannot be removed does not stop the mount from being disabled', async () => {
  await using house = await startCloudHouse()
  await house.root.write('cloud/roles/kept', { persist_app: true, cloud_groups: foo })
  house.directory.fault({ kind: 'status', status: 403, code: 'Authorization_RequestDenied', message: 'Insufficient privileges.', times: null })

  expect((await house.root.delete('sys/mounts/cloud')).status).toBe(204)

  expect((await house.root.read('cloud/config')).status).toBe(404)
})

test('a moved mount keeps configuration, roles and their applications', async () => {
  await using house = await startCloudHouse()
  await house.root.write('cloud/roles/kept', { persist_app: true, cloud_groups: foo })
  const before = alive(house)

  await house.root.write('sys/remount', { from: 'cloud', to: 'clouds' })

  await expect.poll(async () => (await house.root.read('clouds/roles/kept')).status).toBe(200)
  expect(alive(house)).toEqual(before)
  expect((await house.root.delete('clouds/roles/kept')).status).toBe(204)
  expect(alive(house)).toEqual([])
})
