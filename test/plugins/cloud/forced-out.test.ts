import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type CloudHouse, startCloudHouse } from './cloud-house.ts'
import { aCredential, aRole, cleared, type Credential, debris, living, until, works } from './credential-steps.ts'

let house: CloudHouse
let lines: Record<string, unknown>[]

beforeEach(async () => {
  lines = []
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) })
  house = await startCloudHouse({ log })
  await aRole(house, 'ci', { ttl: 600 })
})
afterEach(() => house[Symbol.asyncDispose]())

const everyRemoval = ['deleteRoleAssignment', 'deleteServicePrincipal', 'deleteApplication', 'removeApplicationPassword'] as const
const refuse = (...operations: (typeof everyRemoval)[number][]) => {
  for (const operation of operations) {
    house.directory.fault({ kind: 'status', operation, status: 400, code: 'Request_BadRequest', message: 'no', times: null })
  }
}
const force = (path = 'cloud/creds') => house.root.write(`sys/leases/revoke-force/${path}`)
const disable = (query = '', client = house.root) => client.delete(`sys/mounts/cloud${query}`)
const errorOf = ({ body }: Awaited<ReturnType<typeof disable>>) => String(body['errors']?.[0])
const reap = async (body: object = {}) =>
  (await house.root.write('cloud/reap', body)).body.data as unknown as { objects: { kind: string; id: string; reason: string }[]; deleted: number }
const leftLogged = () =>
  lines.filter(({ event }) => event === 'cloud_debris_left').flatMap(({ objects }) => objects as { kind: string; id: string }[])

async function aForcedCredential(): Promise<Credential> {
  const credential = await aCredential(house, 'ci')
  refuse(...everyRemoval)
  expect((await force()).status).toBe(204)
  expect((await house.root.list('sys/leases/lookup/cloud/creds/ci')).status).toBe(404)
  return credential
}

describe('what a lease owned that was dropped by force', () => {
  test('is debris at once, and is taken back as soon as the cloud allows', async () => {
    const credential = await aForcedCredential()

    expect(await debris(house)).toMatchObject([
      { kind: 'app', id: expect.stringMatching(/^[0-9a-f-]{36}$/), name: expect.stringMatching(/^gatehouse-ci-/) },
      { kind: 'roleAssignments' },
    ])
    house.directory.clearFaults()
    await cleared(house)
    expect([living(house), await works(house, credential)]).toEqual([[], false])
  })

  test('is a password of an application of others, and no other password of it', async () => {
    const { id } = house.directory.hand.addApplication({ displayName: 'theirs' })
    const theirs = house.directory.hand.addPassword(id)
    await aRole(house, 'static', { application_object_id: id })
    const [forced, kept] = [await aCredential(house, 'static'), await aCredential(house, 'static')]
    refuse('removeApplicationPassword')
    await force(forced.lease)

    expect(await debris(house)).toMatchObject([{ kind: 'password', name: expect.stringMatching(/^gatehouse-static-/) }])
    expect(await works(house, forced)).toBe(true)
    house.directory.clearFaults()
    await cleared(house)

    const secrets = [forced, kept, { clientId: kept.clientId, secret: theirs.secretText }]
    expect(await Promise.all(secrets.map((secret) => works(house, secret)))).toEqual([false, true, true])
  })

  test('includes assignments, which no application takes along', async () => {
    await aCredential(house, 'ci')
    refuse('deleteRoleAssignment', 'deleteApplication')
    await force()
    expect(living(house)).toContain('role-assignment')

    house.directory.clearFaults()
    await cleared(house)

    expect(living(house)).toEqual([])
  })

  test('is listed and removed by reap', async () => {
    const credential = await aForcedCredential()

    const dry = await reap()
    expect(dry).toMatchObject({
      deleted: 0,
      objects: [{ kind: 'app', reason: expect.stringContaining('it is debris') }, { kind: 'roleAssignments' }],
    })
    house.directory.clearFaults()
    const { deleted } = await reap({ dry_run: false })

    // what the background was quicker with is none of its own
    expect(deleted).toBeLessThanOrEqual(2)
    expect([await debris(house), await works(house, credential)]).toEqual([[], false])
  })
})

describe('a mount with debris', () => {
  test('that can sign in is not removed: 400 with the count and the way out, and the secret works', async () => {
    const credential = await aForcedCredential()

    const refused = await disable()

    expect(refused.status).toBe(400)
    expect(errorOf(refused)).toMatch(
      /^2 objects of this mount could not be removed from the cloud yet \(first app [0-9a-f-]{36}: .*Request_BadRequest: no.*cloud\/reap with dry_run=false.*\?abandon=true, which needs sudo/,
    )
    expect(await works(house, credential)).toBe(true)
    expect((await house.root.read('sys/mounts/cloud')).status).toBe(200)
  })

  test('serves debris and reap while its removal is refused, and nothing else', async () => {
    const credential = await aForcedCredential()
    await disable()

    expect((await debris(house)).map(({ kind }) => kind)).toContain('app')
    expect((await reap()).objects.map(({ kind }) => kind)).toContain('app')
    for (const answer of [
      house.root.read('cloud/config'),
      house.root.read('cloud/creds/ci'),
      house.root.list('cloud/roles'),
      house.root.write('cloud/rotate-root'),
    ]) {
      expect((await answer).status).toBe(404)
    }
    house.directory.clearFaults()
    expect((await house.root.write('cloud/reap', { dry_run: false })).status).toBe(200)

    expect(await debris(house)).toEqual([])
    expect(await works(house, credential)).toBe(false)
    expect((await disable()).status).toBe(204)
    expect((await house.root.read('cloud/debris')).status).toBe(404)
    expect(living(house)).toEqual([])
  })

  test('serves debris and reap while its removal waits for the cloud', async () => {
    await aForcedCredential()
    house.directory.clearFaults()
    house.directory.fault({ kind: 'held', operation: 'deleteApplication', times: null })
    const removing = disable()
    await until(async () => (await house.root.read('cloud/config')).status === 404)

    expect((await debris(house)).map(({ kind }) => kind)).toContain('app')
    expect((await reap()).objects.map(({ kind }) => kind)).toContain('app')

    let isOver = false
    const removed = removing.finally(() => {
      isOver = true
    })
    await until(() => {
      house.directory.release()
      return isOver
    })
    expect((await removed).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  test('needs a token for that as before', async () => {
    await aForcedCredential()
    await disable()

    expect((await house.server.anonymous.write('cloud/reap', { dry_run: false })).status).toBe(403)
    const { body } = await house.root.write('auth/token/create', { policies: ['default'] })
    expect((await house.server.as(String(body.auth?.client_token)).write('cloud/reap', {})).status).toBe(403)
  })

  test('is removed once the cloud has let go of it', async () => {
    await aForcedCredential()
    expect((await disable()).status).toBe(400)
    house.directory.clearFaults()

    expect((await disable()).status).toBe(204)

    expect(living(house)).toEqual([])
  })

  test('of credentials that failed halfway stays likewise', async () => {
    house.directory.fault({ kind: 'status', operation: 'putRoleAssignment', status: 400, code: 'Request_BadRequest' })
    refuse('deleteApplication')
    await house.root.read('cloud/creds/ci')

    expect(await disable()).toMatchObject({ status: 400, body: { errors: [expect.stringMatching(/^1 object of this mount could not be removed/)] } })
    house.directory.clearFaults()

    expect((await disable()).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  test('that cannot sign in any longer is removed, and each id is logged', async () => {
    await aForcedCredential()
    await house.root.write('cloud/config', { client_secret: 'wrong' })
    await until(async () => (await debris(house)).every(({ error }) => String(error).includes('7000215')))
    const left = await debris(house)

    expect((await disable()).status).toBe(204)

    expect(
      leftLogged()
        .map(({ id }) => id)
        .sort(),
    ).toEqual(left.map(({ id }) => String(id)).sort())
  })

  test('whose cloud does not answer is not removed: it may sign in', async () => {
    await aForcedCredential()
    await house.directory.goDown()

    expect((await disable()).status).toBe(400)

    await house.directory.comeBack()
    house.directory.clearFaults()
    expect((await disable()).status).toBe(204)
    expect(living(house)).toEqual([])
  })

  describe('is abandoned with ?abandon=true', () => {
    const withPolicy = async (...capabilities: string[]) => {
      const policy = `path "sys/mounts/*" { capabilities = [${capabilities.map((one) => `"${one}"`).join(', ')}] }`
      await house.root.write('sys/policies/acl/some', { policy })
      const { body } = await house.root.write('auth/token/create', { policies: ['some'] })
      return house.server.as(String(body.auth?.client_token))
    }

    test('by who has sudo there, and each id is logged', async () => {
      const credential = await aForcedCredential()
      const left = await debris(house)
      expect((await disable('?abandon=true', await withPolicy('delete'))).status).toBe(403)
      expect((await disable('?abandon=true', await withPolicy('sudo'))).status).toBe(403)
      expect((await house.root.read('cloud/config')).status).toBe(200)

      expect((await disable('?abandon=true', await withPolicy('delete', 'sudo'))).status).toBe(204)

      expect(
        leftLogged()
          .map(({ id }) => id)
          .sort(),
      ).toEqual(left.map(({ id }) => String(id)).sort())
      expect(await works(house, credential)).toBe(true)
      expect((await house.root.read('cloud/config')).status).toBe(404)
    })

    test('also after its removal was refused, and with leases that cannot be revoked', async () => {
      await aCredential(house, 'ci')
      refuse('deleteApplication')
      expect((await disable()).status).toBe(400)
      expect((await house.root.list('sys/leases/lookup/cloud/creds/ci')).status).toBe(200)

      expect((await disable('?abandon=true')).status).toBe(204)

      expect(leftLogged().map(({ kind }) => kind)).toContain('app')
      expect((await house.root.list('sys/leases/lookup/cloud/creds/ci')).status).toBe(404)
    })

    test.each(['?abandon=false', '?abandon='])('and not with %s', async (query) => {
      await aForcedCredential()

      expect((await disable(query)).status).toBe(400)
    })
  })
})

describe('a namespace with debris', () => {
  const inTeam = async (): Promise<Credential> => {
    await house.root.write('sys/namespaces/team', {})
    await house.root.write('team/sys/mounts/clouds', { type: 'cloud' })
    await house.root.write('team/clouds/config', house.config())
    await house.root.write('team/clouds/roles/ci', { cloud_groups: '[{"group_name":"foo"}]' })
    const { body } = await house.root.read('team/clouds/creds/ci')
    const credential = { clientId: String(body.data?.client_id), secret: String(body.data?.client_secret) }
    refuse(...everyRemoval)
    await house.root.write('team/sys/leases/revoke-force/clouds/creds')
    return { ...credential, lease: '', duration: 0, warnings: body.warnings as never }
  }
  const failures = () => lines.filter(({ msg }) => String(msg).startsWith('could not remove a namespace')).length

  test('is being deleted until the cloud has let go of it', async () => {
    const credential = await inTeam()
    await house.root.delete('sys/namespaces/team')
    await until(() => failures() > 0)
    expect((await house.root.read('sys/namespaces/team')).body.data).toMatchObject({ tainted: true })
    expect(await works(house, credential)).toBe(true)

    house.directory.clearFaults()
    await house.root.delete('sys/namespaces/team')

    await until(async () => (await house.root.read('sys/namespaces/team')).status === 404)
    expect([living(house), await works(house, credential)]).toEqual([[], false])
  })

  test('is given up with ?abandon=true by who has sudo, and each id is logged', async () => {
    await inTeam()
    await house.root.write('sys/policies/acl/some', { policy: 'path "sys/namespaces/*" { capabilities = ["delete"] }' })
    const { body } = await house.root.write('auth/token/create', { policies: ['some'] })
    expect((await house.server.as(String(body.auth?.client_token)).delete('sys/namespaces/team?abandon=true')).status).toBe(403)
    await house.root.delete('sys/namespaces/team')
    await until(() => failures() > 0)

    await house.root.delete('sys/namespaces/team?abandon=true')

    await until(async () => (await house.root.read('sys/namespaces/team')).status === 404)
    expect(leftLogged().map(({ kind }) => kind)).toEqual(['app'])
  })
})
