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
    message: 'role "wide" has an entry without a scope; write the role again',
  })
  expect(directory.journal.entries({ operation: 'createApplication' })).toEqual([])
})

test('a role that an earlier version stored without a scope is reported at the start and by config/check', async () => {
  await using fixture = await openEngineFixture()
  const roles = [{ role_name: 'Owner', role_id: 'r', scope: '' }]
  await fixture.state.withRoleLock('wide', () => fixture.state.putRole('wide', { ...emptyRole, roles }))
  await fixture.state.withRoleLock('plain', () => fixture.state.putRole('plain', emptyRole))

  const { checks } = await fixture.engine.credentials.preflight(fixture.mount, 'a correlation id')
  fixture.engine.start()
  await fixture.engine[Symbol.asyncDispose]()

  expect(fixture.lines).toEqual([
    {
      level: 'warn',
      fields: { event: 'role_without_scope', mount: 'cloud/', namespace: 'root', role: 'wide' },
    },
  ])
  expect(checks.find(({ name }) => name === 'role_scopes')).toEqual({
    name: 'role_scopes',
    ok: false,
    detail: 'roles with an entry without a scope: "wide"',
    fix: 'write the roles again, with a scope for each entry',
  })
})
