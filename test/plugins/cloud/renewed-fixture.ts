import { afterAll, beforeEach } from 'vitest'
import type { TestServer } from '../../support/start-server.ts'
import { type CloudFixture, startCloudFixture } from './cloud-fixture.ts'
import { until } from './credential-steps.ts'

/**
 * One server and one stand-in for all tests of a file that leave the root credential, and all but mounts, as they are. Each
 * test finds new mounts `cloud/` and `azure/`, nothing of the tests before it upstream, and a clock that goes on.
 */
export function renewedFixture(start: () => Promise<CloudFixture> = startCloudFixture): () => CloudFixture {
  let fixture: CloudFixture | undefined
  let settings: CloudFixture['directory']['settings'] | undefined
  beforeEach(async () => {
    if (fixture === undefined) fixture = await start()
    else await renew(fixture, settings)
    settings ??= fixture.directory.settings
  })
  afterAll(() => fixture?.[Symbol.asyncDispose]())
  return () => {
    if (fixture === undefined) throw new Error('no test has begun')
    return fixture
  }
}

/** Role assignments outlive all of them. */
const removable = ['application', 'federated-credential', 'password']

async function renew(
  fixture: CloudFixture,
  settings: CloudFixture['directory']['settings'] | undefined,
): Promise<void> {
  const { directory, root, clock } = fixture
  directory.clearFaults()
  directory.release()
  if (settings !== undefined) directory.change(settings)
  // removes what was issued, too
  for (const path of await cloudMounts(root))
    await until(async () => {
      clock.advance(61)
      return (await root.delete(`sys/mounts/${path}`)).status === 204
    })
  for (const { kind, id, deleted } of directory.inventory())
    if (kind === 'role-assignment' || (!deleted && removable.includes(kind))) directory.admin.remove(id)
  for (const { kind, id, deleted } of directory.inventory())
    if (deleted && (kind === 'application' || kind === 'service-principal')) directory.admin.purge(id)
  for (const type of ['cloud', 'azure']) {
    await root.write(`sys/mounts/${type}`, { type })
    await root.write(`${type}/config`, fixture.config())
  }
  directory.journal.clear()
  clock.pauses.length = 0
}

async function cloudMounts(root: TestServer['root']): Promise<string[]> {
  const mounts = (await root.read('sys/mounts')).body.data ?? {}
  return Object.entries(mounts).flatMap(([path, { type }]) =>
    ['cloud', 'azure'].includes(String(type)) ? path : [],
  )
}
