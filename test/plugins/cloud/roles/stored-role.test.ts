import { expect, test } from 'vitest'
import { emptyRole } from '../../../../src/plugins/cloud/roles/role-record.ts'
import { guids } from '../cloud-fixture.ts'
import { openEngineFixture } from '../engine-fixture.ts'

test('a role that an earlier version stored without a scope issues nothing', async () => {
  await using fixture = await openEngineFixture()
  const { directory, engine, mount, state } = fixture
  const role_id = `/providers/Microsoft.Authorization/roleDefinitions/${guids.owner}`
  const roles = [{ role_name: 'Owner', role_id, scope: '' }]
  await state.withRoleLock('wide', () => state.putRole('wide', { ...emptyRole, roles }))
  directory.journal.clear()

  const issued = engine.credentials.make({
    call: { requestId: 'c0ffee00-0000-4000-8000-000000000001', path: 'cloud/creds/ci' },
    mount,
    caller: undefined,
    role: 'wide',
    input: {},
    whenGone: () => () => undefined,
  })

  await expect(issued).rejects.toMatchObject({
    kind: 'invalid',
    message: "invalid scope: '': each role needs a scope; the root of the tenant is '/'",
  })
  expect(directory.journal.entries({ operation: 'createApplication' })).toEqual([])
})
