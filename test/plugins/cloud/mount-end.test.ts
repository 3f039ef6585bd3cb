import { expect, test } from 'vitest'
import type { CloudFixture } from './cloud-fixture.ts'
import { renewedFixture } from './renewed-fixture.ts'

const renewed = renewedFixture()

const foo = '[{"group_name":"foo"}]'
const alive = ({ directory }: CloudFixture) => directory.inventory().filter(({ deleted }) => !deleted)

test('disabling a mount deletes its roles and their persisted applications', async () => {
  const fixture = renewed()
  await fixture.root.write('cloud/roles/kept', { persist_app: true, cloud_groups: foo })
  await fixture.root.write('cloud/roles/plain', { cloud_groups: foo })
  await fixture.root.write('azure/roles/other', { persist_app: true, azure_groups: foo })
  const before = alive(fixture).length

  expect((await fixture.root.delete('sys/mounts/cloud')).status).toBe(204)

  expect(alive(fixture).length).toBe(before / 2)
  expect((await fixture.root.read('azure/roles/other')).status).toBe(200)
  await fixture.root.write('sys/mounts/cloud', { type: 'cloud' })
  expect((await fixture.root.list('cloud/roles')).status).toBe(404)
})

test.each(['sys/mounts/cloud', 'cloud/config'])('DELETE %s removes a pending root secret', async (path) => {
  const fixture = renewed()
  await fixture.root.write('cloud/rotate-root')
  const passwords = () => alive(fixture).filter(({ kind }) => kind === 'password')
  expect(passwords()).toHaveLength(1)

  // the configuration says that it discards the rotation
  expect((await fixture.root.delete(path)).status).toBe(path === 'cloud/config' ? 200 : 204)
  // without a configuration the debris waits for the next one
  if (path === 'cloud/config') {
    expect((await fixture.root.read('cloud/debris')).body.data?.['objects']).toMatchObject([
      { kind: 'rootPassword' },
    ])
    await fixture.root.write('cloud/config', fixture.config())
    await fixture.root.write('cloud/reap', { dry_run: false })
  }

  expect(passwords()).toEqual([])
  expect((await fixture.root.read('azure/config/check')).body.data?.['checks']).toContainEqual(
    expect.objectContaining({ name: 'sign_in', ok: true }),
  )
})

test('deleting a namespace disables its mounts', async () => {
  const fixture = renewed()
  await fixture.root.write('sys/namespaces/team', {})
  await fixture.root.write('team/sys/mounts/clouds', { type: 'azure' })
  await fixture.root.write('team/clouds/config', fixture.config())
  await fixture.root.write('team/clouds/roles/kept', { persist_app: true, azure_groups: foo })
  expect(alive(fixture)).not.toEqual([])

  await fixture.root.delete('sys/namespaces/team')

  await expect.poll(async () => (await fixture.root.read('sys/namespaces/team')).status).toBe(404)
  expect(alive(fixture)).toEqual([])
})

test('an application that cannot be removed does not stop the mount from being disabled', async () => {
  const fixture = renewed()
  await fixture.root.write('cloud/roles/kept', { persist_app: true, cloud_groups: foo })
  fixture.directory.fault({
    kind: 'status',
    status: 403,
    code: 'Authorization_RequestDenied',
    message: 'Insufficient privileges.',
    times: null,
  })

  expect((await fixture.root.delete('sys/mounts/cloud')).status).toBe(204)

  expect((await fixture.root.read('cloud/config')).status).toBe(404)
})

test('a moved mount keeps its configuration, roles and persisted applications', async () => {
  const fixture = renewed()
  await fixture.root.write('cloud/roles/kept', { persist_app: true, cloud_groups: foo })
  const before = alive(fixture)

  await fixture.root.write('sys/remount', { from: 'cloud', to: 'clouds' })

  await expect.poll(async () => (await fixture.root.read('clouds/roles/kept')).status).toBe(200)
  expect(alive(fixture)).toEqual(before)
  expect((await fixture.root.delete('clouds/roles/kept')).status).toBe(204)
  expect(alive(fixture)).toEqual([])
})
