import { expect, test } from 'vitest'
import { startCloudFixture } from '../cloud-fixture.ts'

test.each([
  { path: 'cloud/roles/busy', more: {} },
  { path: 'cloud/static-roles/busy', more: { defer_initial_creds: true } },
])('few writes of one role wait for a directory that does not answer: $path', async ({ path, more }) => {
  await using fixture = await startCloudFixture({ cloudTimes: { limits: { waitingWrites: 1 } } })
  const { directory, root } = fixture
  const { id } = directory.admin.addApplication({ displayName: 'theirs' })
  const write = () => root.write(path, { application_object_id: id, ...more })
  directory.fault({ kind: 'held', operation: 'getApplication' })
  const first = write()
  await directory.journal.arrived('getApplication')

  const later = [write(), write()]
  const refused = await Promise.race(later)
  directory.release()

  expect(refused).toMatchObject({
    status: 429,
    headers: { 'retry-after': '10' },
    body: { errors: ["other requests are writing role 'busy'; try again"] },
  })
  expect((await first).status).toBe(204)
  expect((await Promise.all(later)).map(({ status }) => status).toSorted()).toEqual([204, 429])
})
