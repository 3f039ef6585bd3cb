import { expect, test } from 'vitest'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { guids } from '../plugins/cloud/cloud-fixture.ts'
import { emptyDatabase, query } from '../support/postgres.ts'
import { startProcess } from '../support/process.ts'
import { sealKey } from '../support/replicas.ts'
import { startTestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

test('what a killed server was creating in a cloud is undone, and the mount that it was removing is removed', async () => {
  await using database = await emptyDatabase()
  await using directory = await startDirectory()
  await using folder = await temporaryFolder()
  const settings = (REPLICA_NAME: string) => ({
    STORAGE: database.url,
    SEAL_KEY: sealKey,
    POSTGRES_POOL: '3',
    REPLICA_NAME,
    DEFAULT_MOUNTS: 'cloud=cloud,ending=cloud',
  })
  const environment = {
    CLOUD_AUTHORITY_HOST: directory.authorityUrl,
    CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
    CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
    CLOUD_CA_FILE: directory.caFile,
  }
  await using killed = await startProcess({ folder: folder.path, settings: settings('killed'), environment })
  await using running = await startTestServer({ dev: false, settings: settings('running'), environment })
  const [there, here] = [killed.as(killed.rootToken), running.as(killed.rootToken)]
  const subscription = `/subscriptions/${directory.subscriptionId}`
  const role = {
    role_id: `${subscription}/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`,
    scope: `${subscription}/resourceGroups/web`,
  }
  for (const mount of ['cloud', 'ending']) {
    await there.write(`${mount}/config`, {
      subscription_id: directory.subscriptionId,
      tenant_id: directory.tenantId,
      client_id: directory.rootClientId,
      client_secret: directory.rootClientSecret,
    })
    const written = await there.write(`${mount}/roles/ci`, { cloud_roles: JSON.stringify([role]) })
    expect(written.status).toBe(204)
  }
  const things = () => directory.inventory().filter(({ deleted }) => !deleted)
  const count = (kind: string) => things().filter((thing) => thing.kind === kind).length

  directory.fault({ kind: 'held', operation: 'createServicePrincipal', times: 1 })
  directory.fault({ kind: 'held', operation: 'getRoleDefinition', times: 1 })
  const issued = there.read('cloud/creds/ci').catch(() => 'cut')
  await expect.poll(() => count('service-principal')).toBe(1)
  const asked = () => directory.journal.entries().length
  const before = asked()
  const inside = there.write('ending/roles/late', { cloud_roles: JSON.stringify([role]) }).catch(() => 'cut')
  await expect.poll(asked).toBeGreaterThan(before)
  // it waits for the request inside
  const removed = there.delete('sys/mounts/ending').catch(() => 'cut')
  const isMarked = async () => (await here.read('ending/roles/ci')).status
  await expect.poll(isMarked).toBe(404)
  expect(Object.keys(Object((await here.read('sys/mounts')).body.data))).toContain('ending/')

  await killed.stop('SIGKILL')
  expect(await Promise.all([issued, inside, removed])).toEqual(['cut', 'cut', 'cut'])
  // waits for less time than a heartbeat and a lease last
  await query(
    database.url,
    "UPDATE replicas SET heartbeat_at = now() - interval '11 s' WHERE name = 'killed'",
  )
  const ofKilled = "replica = (SELECT id FROM replicas WHERE name = 'killed')"
  await query(database.url, `UPDATE jobs SET until = now() - interval '1 s' WHERE ${ofKilled}`)

  await expect.poll(things, { timeout: 30_000 }).toEqual([])
  await expect
    .poll(async () => Object.keys(Object((await here.read('sys/mounts')).body.data)), { timeout: 30_000 })
    .not.toContain('ending/')
  directory.release()
})
