import pino from 'pino'
import { beforeEach, describe, expect, test } from 'vitest'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import {
  aCredential,
  aRole,
  type Credential,
  cleared,
  debris,
  living,
  until,
  works,
} from '../credential-steps.ts'
import { renewedFixture } from '../renewed-fixture.ts'

let lines: Record<string, unknown>[] = []
const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
const renewed = renewedFixture(() => startCloudFixture({ log }))
let fixture: CloudFixture

beforeEach(async () => {
  fixture = renewed()
  lines = []
  await aRole(fixture, 'ci', { ttl: 600 })
})

const everyRemoval = [
  'deleteRoleAssignment',
  'deleteServicePrincipal',
  'deleteApplication',
  'removeApplicationPassword',
] as const
const refuse = (...operations: (typeof everyRemoval)[number][]) => {
  for (const operation of operations) {
    fixture.directory.fault({
      kind: 'status',
      operation,
      status: 400,
      code: 'Request_BadRequest',
      message: 'no',
      times: null,
    })
  }
}
const force = (path = 'cloud/creds') => fixture.root.write(`sys/leases/revoke-force/${path}`)
const disable = (query = '', client = fixture.root) => client.delete(`sys/mounts/cloud${query}`)
const errorOf = ({ body }: Awaited<ReturnType<typeof disable>>) => String(body['errors']?.[0])
const reap = async (body: object = {}) =>
  (await fixture.root.write('cloud/reap', body)).body.data as unknown as {
    objects: { kind: string; id: string; reason: string }[]
    deleted: number
  }
const leftLogged = () =>
  lines
    .filter(({ event }) => event === 'cloud_debris_left')
    .flatMap(({ objects }) => objects as { kind: string; id: string }[])

async function aForcedCredential(): Promise<Credential> {
  const credential = await aCredential(fixture, 'ci')
  refuse(...everyRemoval)
  expect((await force()).status).toBe(204)
  expect((await fixture.root.list('sys/leases/lookup/cloud/creds/ci')).status).toBe(404)
  return credential
}

describe('the objects of a lease that is revoked by force', () => {
  test('are debris at once, and are removed as soon as the cloud allows', async () => {
    const credential = await aForcedCredential()

    expect(await debris(fixture)).toMatchObject([
      {
        kind: 'app',
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        name: expect.stringMatching(/^gatehouse-ci-/),
      },
      { kind: 'roleAssignments' },
    ])
    fixture.directory.clearFaults()
    await cleared(fixture)
    expect([living(fixture), await works(fixture, credential)]).toEqual([[], false])
  })

  test('on a shared application are its own password only', async () => {
    const { id } = fixture.directory.admin.addApplication({ displayName: 'theirs' })
    const theirs = fixture.directory.admin.addPassword(id)
    await aRole(fixture, 'static', { application_object_id: id })
    const [forced, kept] = [await aCredential(fixture, 'static'), await aCredential(fixture, 'static')]
    refuse('removeApplicationPassword')
    await force(forced.lease)

    expect(await debris(fixture)).toMatchObject([
      { kind: 'password', name: expect.stringMatching(/^gatehouse-static-/) },
    ])
    expect(await works(fixture, forced)).toBe(true)
    fixture.directory.clearFaults()
    await cleared(fixture)

    const secrets = [forced, kept, { clientId: kept.clientId, secret: theirs.secretText }]
    expect(await Promise.all(secrets.map((secret) => works(fixture, secret)))).toEqual([false, true, true])
  })

  test('include role assignments, which outlive the application', async () => {
    await aCredential(fixture, 'ci')
    refuse('deleteRoleAssignment', 'deleteApplication')
    await force()
    expect(living(fixture)).toContain('role-assignment')

    fixture.directory.clearFaults()
    await cleared(fixture)

    expect(living(fixture)).toEqual([])
  })

  test('are listed and removed by reap', async () => {
    const credential = await aForcedCredential()

    const dry = await reap()
    expect(dry).toMatchObject({
      deleted: 0,
      objects: [
        { kind: 'app', reason: expect.stringContaining('it is debris') },
        { kind: 'roleAssignments' },
      ],
    })
    fixture.directory.clearFaults()
    const { deleted } = await reap({ dry_run: false })

    // reap does not count what the background has removed before
    expect(deleted).toBeLessThanOrEqual(2)
    await cleared(fixture)
    expect(await works(fixture, credential)).toBe(false)
  })
})

describe('a mount with debris', () => {
  test('that can sign in is not removed: 400 with the count and advice, and the secret still works', async () => {
    const credential = await aForcedCredential()

    const refused = await disable()

    expect(refused.status).toBe(400)
    expect(errorOf(refused)).toMatch(
      /^2 objects of this mount could not be removed from the cloud yet \(first app [0-9a-f-]{36}: .*Request_BadRequest: no.*cloud\/reap with dry_run=false.*\?abandon=true, which needs sudo/,
    )
    expect(await works(fixture, credential)).toBe(true)
    expect((await fixture.root.read('sys/mounts/cloud')).status).toBe(200)
  })

  test('serves debris and reap while its removal is refused, and nothing else', async () => {
    const credential = await aForcedCredential()
    await disable()

    expect((await debris(fixture)).map(({ kind }) => kind)).toContain('app')
    expect((await reap()).objects.map(({ kind }) => kind)).toContain('app')
    for (const answer of [
      fixture.root.read('cloud/config'),
      fixture.root.read('cloud/creds/ci'),
      fixture.root.list('cloud/roles'),
      fixture.root.write('cloud/rotate-root'),
    ]) {
      expect((await answer).status).toBe(404)
    }
    fixture.directory.clearFaults()
    expect((await fixture.root.write('cloud/reap', { dry_run: false })).status).toBe(200)

    expect(await debris(fixture)).toEqual([])
    expect(await works(fixture, credential)).toBe(false)
    expect((await disable()).status).toBe(204)
    expect((await fixture.root.read('cloud/debris')).status).toBe(404)
    expect(living(fixture)).toEqual([])
  })

  test('serves debris and reap while its removal waits for the cloud', async () => {
    await aForcedCredential()
    fixture.directory.clearFaults()
    fixture.directory.fault({ kind: 'held', operation: 'deleteApplication', times: null })
    const removing = disable()
    await until(async () => (await fixture.root.read('cloud/config')).status === 404)

    expect((await debris(fixture)).map(({ kind }) => kind)).toContain('app')
    expect((await reap()).objects.map(({ kind }) => kind)).toContain('app')

    let isOver = false
    const removed = removing.finally(() => {
      isOver = true
    })
    await until(() => {
      fixture.directory.release()
      return isOver
    })
    expect((await removed).status).toBe(204)
    expect(living(fixture)).toEqual([])
  })

  test('serves debris and reap to callers with a token only', async () => {
    await aForcedCredential()
    await disable()

    expect((await fixture.server.anonymous.write('cloud/reap', { dry_run: false })).status).toBe(403)
    const { body } = await fixture.root.write('auth/token/create', { policies: ['default'] })
    expect((await fixture.server.as(String(body.auth?.client_token)).write('cloud/reap', {})).status).toBe(
      403,
    )
  })

  test('is removed once its debris is gone', async () => {
    await aForcedCredential()
    expect((await disable()).status).toBe(400)
    fixture.directory.clearFaults()

    expect((await disable()).status).toBe(204)

    expect(living(fixture)).toEqual([])
  })

  test('from failed credentials is not removed either', async () => {
    fixture.directory.fault({
      kind: 'status',
      operation: 'putRoleAssignment',
      status: 400,
      code: 'Request_BadRequest',
    })
    refuse('deleteApplication')
    await fixture.root.read('cloud/creds/ci')

    expect(await disable()).toMatchObject({
      status: 400,
      body: { errors: [expect.stringMatching(/^1 object of this mount could not be removed/)] },
    })
    fixture.directory.clearFaults()

    expect((await disable()).status).toBe(204)
    expect(living(fixture)).toEqual([])
  })

  test('that can no longer sign in is removed, and each id is logged', async () => {
    await aForcedCredential()
    await fixture.root.write('cloud/config', { client_secret: 'wrong' })
    await until(async () => (await debris(fixture)).every(({ error }) => String(error).includes('7000215')))
    const left = await debris(fixture)

    expect((await disable()).status).toBe(204)

    expect(
      leftLogged()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(left.map(({ id }) => String(id)).sort())
  })

  test('whose cloud does not answer is not removed, because it may sign in', async () => {
    await aForcedCredential()
    await fixture.directory.goDown()

    expect((await disable()).status).toBe(400)

    await fixture.directory.comeBack()
    fixture.directory.clearFaults()
    expect((await disable()).status).toBe(204)
    expect(living(fixture)).toEqual([])
  })

  describe('can be abandoned with ?abandon=true', () => {
    const withPolicy = async (...capabilities: string[]) => {
      const policy = `path "sys/mounts/*" { capabilities = [${capabilities.map((one) => `"${one}"`).join(', ')}] }`
      await fixture.root.write('sys/policies/acl/some', { policy })
      const { body } = await fixture.root.write('auth/token/create', { policies: ['some'] })
      return fixture.server.as(String(body.auth?.client_token))
    }

    test('by a caller with sudo, and each id is logged', async () => {
      const credential = await aForcedCredential()
      const left = await debris(fixture)
      expect((await disable('?abandon=true', await withPolicy('delete'))).status).toBe(403)
      expect((await disable('?abandon=true', await withPolicy('sudo'))).status).toBe(403)
      expect((await fixture.root.read('cloud/config')).status).toBe(200)

      expect((await disable('?abandon=true', await withPolicy('delete', 'sudo'))).status).toBe(204)

      expect(
        leftLogged()
          .map(({ id }) => id)
          .sort(),
      ).toEqual(left.map(({ id }) => String(id)).sort())
      expect(await works(fixture, credential)).toBe(true)
      expect((await fixture.root.read('cloud/config')).status).toBe(404)
    })

    test('even after its removal was refused, and with leases that cannot be revoked', async () => {
      await aCredential(fixture, 'ci')
      refuse('deleteApplication')
      expect((await disable()).status).toBe(400)
      expect((await fixture.root.list('sys/leases/lookup/cloud/creds/ci')).status).toBe(200)

      expect((await disable('?abandon=true')).status).toBe(204)

      expect(leftLogged().map(({ kind }) => kind)).toContain('app')
      expect((await fixture.root.list('sys/leases/lookup/cloud/creds/ci')).status).toBe(404)
    })

    test.each(['?abandon=false', '?abandon='])('but not with %s', async (query) => {
      await aForcedCredential()

      expect((await disable(query)).status).toBe(400)
    })
  })
})

describe('a namespace with debris', () => {
  const inTeam = async (): Promise<Credential> => {
    await fixture.root.write('sys/namespaces/team', {})
    await fixture.root.write('team/sys/mounts/clouds', { type: 'cloud' })
    await fixture.root.write('team/clouds/config', fixture.config())
    await fixture.root.write('team/clouds/roles/ci', { cloud_groups: '[{"group_name":"foo"}]' })
    const { body } = await fixture.root.read('team/clouds/creds/ci')
    const credential = { clientId: String(body.data?.client_id), secret: String(body.data?.client_secret) }
    refuse(...everyRemoval)
    await fixture.root.write('team/sys/leases/revoke-force/clouds/creds')
    return { ...credential, lease: '', duration: 0, warnings: body.warnings as never }
  }
  const failures = () =>
    lines.filter(({ msg }) => String(msg).startsWith('could not remove a namespace')).length

  test('is being deleted until the debris is gone', async () => {
    const credential = await inTeam()
    await fixture.root.delete('sys/namespaces/team')
    await until(() => failures() > 0)
    expect((await fixture.root.read('sys/namespaces/team')).body.data).toMatchObject({ tainted: true })
    expect(await works(fixture, credential)).toBe(true)

    fixture.directory.clearFaults()
    await fixture.root.delete('sys/namespaces/team')

    await until(async () => (await fixture.root.read('sys/namespaces/team')).status === 404)
    expect([living(fixture), await works(fixture, credential)]).toEqual([[], false])
  })

  test('can be abandoned with ?abandon=true by a caller with sudo, and each id is logged', async () => {
    await inTeam()
    await fixture.root.write('sys/policies/acl/some', {
      policy: 'path "sys/namespaces/*" { capabilities = ["delete"] }',
    })
    const { body } = await fixture.root.write('auth/token/create', { policies: ['some'] })
    expect(
      (await fixture.server.as(String(body.auth?.client_token)).delete('sys/namespaces/team?abandon=true'))
        .status,
    ).toBe(403)
    await fixture.root.delete('sys/namespaces/team')
    await until(() => failures() > 0)

    await fixture.root.delete('sys/namespaces/team?abandon=true')

    await until(async () => (await fixture.root.read('sys/namespaces/team')).status === 404)
    expect(leftLogged().map(({ kind }) => kind)).toEqual(['app'])
  })
})
