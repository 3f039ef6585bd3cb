import { createHash } from 'node:crypto'
import { decodeJwt } from 'jose'
import { describe, expect, test } from 'vitest'
import { verdict } from '../../identity/login-mount.ts'
import { type CloudFixture, startCloudFixture } from '../cloud-fixture.ts'
import { renewedFixture } from '../renewed-fixture.ts'

const renewed = renewedFixture()

const scope = 'https://graph.microsoft.com/.default'

/** A mount `cloud/`, and an application that the root owns. */
function aHouse(house = renewed()) {
  const { admin, rootServicePrincipalId } = house.directory
  const application = admin.addApplication({ displayName: 'deploy' })
  admin.addOwner(application.id, rootServicePrincipalId)
  return { ...house, application }
}

type House = CloudFixture & { application: { id: string; appId: string } }

const trustsOf = ({ directory }: CloudFixture) =>
  directory.inventory().filter(({ kind }) => kind === 'federated-credential')

const written = (house: House, fields: object = {}, role = 'deploy') =>
  house.root.write(`cloud/roles/${role}`, {
    credential_type: 'federated',
    application_object_id: house.application.id,
    ...fields,
  })

/** Waits until no change may still take effect: the engine expects that for a minute. */
async function isSettled(house: CloudFixture): Promise<void> {
  const objects = async () => (await house.root.read('cloud/debris')).body.data?.['objects']
  await expect
    .poll(async () => {
      house.clock.advance(61)
      return objects()
    })
    .toEqual([])
}

const tokenOf = (house: House, role = 'deploy') => house.root.write(`cloud/token/${role}`, { scope })

const appIdOf = (answer: { body: { data?: Record<string, unknown> | null } }) =>
  decodeJwt(String(answer.body.data?.['access_token'])).appid

test('an application trusts its role from the write on, and no longer once the role is deleted', async () => {
  const house = aHouse()

  expect(verdict(await written(house))).toBe('204')
  const [trust, ...others] = trustsOf(house)
  expect(others).toEqual([])
  const accessor = String((await house.root.read('sys/mounts/cloud')).body.data?.accessor)
  const digest = createHash('sha256').update('deploy').digest('hex')
  expect(trust?.name).toBe(`gatehouse-${accessor}-${digest.slice(0, 20)}`)
  expect(
    house.directory.journal.entries({ operation: 'updateFederatedCredential' }).map(({ body }) => body),
  ).toEqual([
    {
      issuer: `${house.server.url}/v1/identity/oidc/plugins`,
      subject: `plugin-identity:root:secret:${accessor}:role:deploy`,
      audiences: ['api://AzureADTokenExchange'],
    },
  ])
  expect(appIdOf(await tokenOf(house))).toBe(house.application.appId)
  expect((await house.root.read('cloud/creds/deploy')).body).toMatchObject({
    lease_id: '',
    data: { client_id: house.application.appId },
  })
  expect(verdict(await written(house))).toBe('204')
  expect(trustsOf(house)).toHaveLength(1)

  expect((await house.root.delete('cloud/roles/deploy')).status).toBe(204)
  expect(trustsOf(house)).toEqual([])
  expect((await house.root.read('cloud/debris')).body.data).toEqual({ objects: [] })
})

// docs/contract/cloud.md#own-identity
test('a role gives out nothing once its application is that of the engine', async () => {
  const house = aHouse()
  await written(house)
  const roles = JSON.stringify([{ role_name: 'Reader', scope: house.scope() }])
  const made = { credential_type: 'federated', persist_app: true, cloud_roles: roles }
  await house.root.write('cloud/roles/made', made)
  const { data } = (await house.root.read('cloud/creds/made')).body
  const refused: string[] = []

  for (const [role, clientId] of [
    ['deploy', house.application.appId],
    ['made', String(data?.client_id)],
  ] as const) {
    await house.root.write('cloud/config', { client_id: clientId })
    const answers = [
      await house.root.read(`cloud/creds/${role}`),
      await house.root.read(`cloud/creds/${role}?wait=ready`),
      await tokenOf(house, role),
      await house.root.read(`cloud/token/${role}?scope=${scope}&fresh=true`),
    ]
    refused.push(...answers.map(verdict))
  }

  expect(refused).toHaveLength(8)
  expect(new Set(refused)).toEqual(
    new Set(['400 application_object_id must not refer to the application used by this engine']),
  )
})

test('a role that is refused changes no trust', async () => {
  const house = aHouse()
  const roles = JSON.stringify([{ role_name: 'nobody', scope: house.scope() }])

  expect(verdict(await written(house, { cloud_roles: roles }))).toMatch(/^400 no role found for role_name/)

  expect(house.directory.journal.entries({ operation: 'updateFederatedCredential' })).toEqual([])
})

test('a trust that somebody has removed keeps no role from its deletion', async () => {
  const house = aHouse()
  await written(house)
  house.directory.admin.remove(trustsOf(house)[0]?.id ?? '')

  expect(verdict(await house.root.delete('cloud/roles/deploy'))).toBe('204')

  const deletions = house.directory.journal.entries({ operation: 'deleteFederatedCredential' })
  expect(deletions.map(({ status }) => status)).toEqual([404])
  expect((await house.root.read('cloud/debris')).body.data).toEqual({ objects: [] })
})

test('the application of a persist_app role trusts it too, and is deleted with it', async () => {
  const house = aHouse()
  const role = { credential_type: 'federated', persist_app: true }
  const roles = JSON.stringify([{ role_name: 'Reader', scope: house.scope() }])

  expect(verdict(await house.root.write('cloud/roles/own', { ...role, cloud_roles: roles }))).toBe('204')
  const id = String((await house.root.read('cloud/roles/own')).body.data?.application_object_id)
  expect(trustsOf(house)).toHaveLength(1)
  expect((await tokenOf(house, 'own')).status).toBe(200)

  expect((await house.root.delete('cloud/roles/own')).status).toBe(204)
  expect(house.directory.inventory().find((thing) => thing.id === id)).toMatchObject({ deleted: true })
})

test('the trust goes when the role leaves the type, names a client, or names another application', async () => {
  const house = aHouse()
  const { admin, rootServicePrincipalId } = house.directory
  const other = admin.addApplication({ displayName: 'other' })
  admin.addOwner(other.id, rootServicePrincipalId)

  await written(house)
  expect(verdict(await written(house, { application_object_id: other.id }))).toBe('204')
  await expect.poll(() => trustsOf(house).length).toBe(1)
  expect(appIdOf(await tokenOf(house))).toBe(other.appId)
  expect(verdict(await written(house, { credential_type: 'password' }))).toBe('204')
  await expect.poll(() => trustsOf(house).length).toBe(0)
  expect(verdict(await written(house))).toBe('204')
  expect(verdict(await written(house, { application_object_id: '', federated_client_id: other.appId }))).toBe(
    '204',
  )
  await expect.poll(() => trustsOf(house).length).toBe(0)
})

test('a role keeps its type while its credentials live', async () => {
  const house = aHouse()
  await written(house, { credential_type: 'password' })
  const { body } = await house.root.read('cloud/creds/deploy')

  expect(verdict(await written(house))).toBe('400 role has live leases; revoke them first')
  expect(trustsOf(house)).toEqual([])
  await house.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: true })
  expect(verdict(await written(house))).toBe('204')
})

describe('a trust that has not arrived at the login service yet is waited for', () => {
  const isLate = { delaySeconds: { trustToToken: 20 } }
  const issuerOf = ({ server }: CloudFixture) => `${server.url}/v1/identity/oidc/plugins`

  test.each([
    { code: 700211, when: 'it is the first of its issuer', before: async () => undefined },
    {
      code: 700213,
      when: 'the issuer is trusted for another subject',
      before: async (house: House) => {
        house.directory.admin.addTrust(house.application.id, { issuer: issuerOf(house), subject: 'other' })
      },
    },
    {
      code: 700212,
      when: 'it was for another audience',
      before: async (house: House) => {
        await written(house)
        house.clock.advance(60)
        await house.root.write('cloud/config', { environment: 'CloudChinaCloud' })
      },
    },
  ])('AADSTS$code: $when', async ({ code, before }) => {
    const house = aHouse()
    await before(house)
    house.directory.change(isLate)
    house.directory.journal.clear()

    await written(house)
    const answer = await tokenOf(house)

    expect(appIdOf(answer)).toBe(house.application.appId)
    const asked = house.directory.journal.entries({ operation: 'token' })
    expect(new Set(asked.flatMap(({ number }) => number ?? []))).toEqual(new Set([code]))
  })

  test('AADSTS700016: neither has the application that the role owns', async () => {
    const house = aHouse()
    const roles = JSON.stringify([{ role_name: 'Reader', scope: house.scope() }])
    await written(house, { application_object_id: '', persist_app: true, cloud_roles: roles })
    const body = { error: 'unauthorized_client', error_codes: [700_016] }
    house.directory.fault({ kind: 'status', operation: 'token', status: 400, body, times: 3 })

    expect((await tokenOf(house)).status).toBe(200)
  })

  test('AADSTS70021, which names nothing', async () => {
    const house = aHouse()
    await written(house)
    const body = { error: 'invalid_client', error_description: 'AADSTS70021: None.', error_codes: [70021] }
    house.directory.fault({ kind: 'status', operation: 'token', status: 400, body, times: 3 })

    expect(appIdOf(await tokenOf(house))).toBe(house.application.appId)
  })
})

test('a trust that an administrator has changed is explained at once', async () => {
  const house = aHouse()
  await written(house)
  house.clock.advance(601)
  const [trust] = trustsOf(house)
  house.directory.admin.remove(trust?.id ?? '')

  const said = verdict(await tokenOf(house))

  expect(said).toMatch(/^400 AADSTS700211: .*: the issuer is not trusted; fix: write the role again/)
  expect(verdict(await written(house))).toBe('204')
  expect((await tokenOf(house)).status).toBe(200)
})

test('an application with 20 trusts takes no other one', async () => {
  const house = aHouse()
  for (let index = 0; index < 20; index += 1)
    house.directory.admin.addTrust(house.application.id, { issuer: 'https://ci', subject: `job ${index}` })

  expect(verdict(await written(house))).toMatch(
    /^400 could not create federated credential: Request_BadRequest: The maximum number/,
  )
  expect((await house.root.read('cloud/roles/deploy')).status).toBe(404)
  expect((await house.root.read('cloud/debris')).body.data).toEqual({ objects: [] })
})

test('without the right to change the application, the refusal names the permission', async () => {
  const house = renewed()
  const { id } = house.directory.admin.addApplication({ displayName: 'foreign' })
  house.directory.change({ directoryPermissions: ['Application.ReadWrite.OwnedBy'] })

  expect(
    verdict(
      await house.root.write('cloud/roles/r', { credential_type: 'federated', application_object_id: id }),
    ),
  ).toMatch(/^400 could not create federated credential: .*missing permission: Application\.ReadWrite\.All/)
})

test('removing the mount removes its trusts; a trust without a role is reaped', async () => {
  const house = aHouse()
  await written(house)
  const { body } = await house.root.read('sys/mounts/cloud')
  const name = `gatehouse-${String(body.data?.accessor)}-00000000000000000000`
  house.directory.admin.addTrust(house.application.id, { issuer: 'https://old', subject: 's', name })
  const mayNot = `gatehouse-other_12345678-00000000000000000000`
  house.directory.admin.addTrust(house.application.id, { issuer: 'https://new', subject: 's', name: mayNot })

  const dry = await house.root.write('cloud/reap', {})
  expect(dry.body.data).toMatchObject({
    objects: [{ kind: 'federatedCredential', id: house.application.id, name, reason: 'no role owns it' }],
    deleted: 0,
  })
  expect((await house.root.write('cloud/reap', { dry_run: false })).body.data).toMatchObject({ deleted: 1 })
  expect((await house.root.write('cloud/reap', {})).body.data).toEqual({ objects: [], deleted: 0 })

  expect((await house.root.delete('sys/mounts/cloud')).status).toBe(204)
  expect(trustsOf(house)).toEqual([])
})

describe('reaping beside a write of the role', () => {
  /** A trust with the name of the role `deploy`, which does not exist, and another role of the application. */
  async function leftTrust(house: House): Promise<void> {
    await written(house)
    const name = String(trustsOf(house)[0]?.name)
    await house.root.delete('cloud/roles/deploy')
    house.directory.admin.addTrust(house.application.id, { issuer: 'https://old', subject: 's', name })
    await written(house, { credential_type: 'password' }, 'other')
  }
  const reaped = (house: House) => house.root.write('cloud/reap', { dry_run: false })

  test('leaves the role its trust', async () => {
    const house = aHouse()
    await leftTrust(house)
    house.directory.fault({ kind: 'late', operation: 'deleteFederatedCredential', delayMs: 300 })
    const reaping = reaped(house)
    const tried = () => house.directory.journal.entries({ operation: 'listFederatedCredentials' }).length
    await expect.poll(tried).toBe(1)

    expect(verdict(await written(house))).toBe('204')
    expect((await reaping).status).toBe(200)

    await isSettled(house)
    expect(trustsOf(house)).toHaveLength(1)
    expect(appIdOf(await tokenOf(house))).toBe(house.application.appId)
  })

  test('gives the trust back if the removal takes effect after it', async () => {
    const house = aHouse()
    await leftTrust(house)
    house.directory.fault({ kind: 'status', status: 504, operation: 'deleteFederatedCredential' })
    expect((await reaped(house)).status).toBe(200)

    expect(verdict(await written(house))).toBe('204')
    house.directory.admin.remove(trustsOf(house)[0]?.id ?? '')

    await expect.poll(() => trustsOf(house)).toHaveLength(1)
    await isSettled(house)
    expect(appIdOf(await tokenOf(house))).toBe(house.application.appId)
  })
})

test.each(['lost', 'html'] as const)(
  'a trust whose answer is lost (%s) has an owner, or is undone',
  async (kind) => {
    const house = aHouse()
    house.directory.fault({ kind, operation: 'updateFederatedCredential', times: null })

    const { status } = await written(house)

    expect(status).toBeGreaterThanOrEqual(400)
    house.directory.clearFaults()
    await expect.poll(() => trustsOf(house)).toEqual([])
    await isSettled(house)
    expect(trustsOf(house)).toEqual([])
  },
)

describe('a deletion that fails', () => {
  test('halfway leaves the role with its trust', async () => {
    const house = aHouse()
    await written(house)
    house.directory.fault({ kind: 'lost', operation: 'deleteFederatedCredential', times: null })

    expect((await house.root.delete('cloud/roles/deploy')).status).toBe(502)
    expect(trustsOf(house)).toEqual([])
    house.directory.clearFaults()

    await expect.poll(() => trustsOf(house)).toHaveLength(1)
    await isSettled(house)
    expect(appIdOf(await tokenOf(house))).toBe(house.application.appId)
    expect((await house.root.delete('cloud/roles/deploy')).status).toBe(204)
    expect(trustsOf(house)).toEqual([])
  })

  test('without an effect changes nothing', async () => {
    const house = aHouse()
    await written(house)
    const refusal = { kind: 'status', status: 403, code: 'Authorization_RequestDenied' } as const
    house.directory.fault({ ...refusal, operation: 'deleteFederatedCredential', times: null })
    const before = trustsOf(house)

    expect((await house.root.delete('cloud/roles/deploy')).status).toBe(400)

    expect((await house.root.read('cloud/debris')).body.data).toEqual({ objects: [] })
    expect(trustsOf(house)).toEqual(before)
  })
})

test('a deletion that takes effect after the role was written again takes no trust away for long', async () => {
  const house = aHouse()
  await written(house)
  house.directory.fault({ kind: 'status', status: 504, operation: 'deleteFederatedCredential' })
  expect((await house.root.delete('cloud/roles/deploy')).status).toBe(204)

  expect(verdict(await written(house))).toBe('204')
  house.directory.admin.remove(trustsOf(house)[0]?.id ?? '')

  await expect.poll(() => trustsOf(house)).toHaveLength(1)
  await isSettled(house)
  expect(trustsOf(house)).toHaveLength(1)
})

test('a write that takes effect after the role was deleted leaves no trust', async () => {
  const house = aHouse()
  house.directory.fault({ kind: 'status', status: 504, operation: 'updateFederatedCredential' })
  await written(house)
  const [trust] = trustsOf(house)
  expect((await house.root.delete('cloud/roles/deploy')).status).toBe(204)

  const late = { issuer: 'https://gate', subject: 'late', name: String(trust?.name) }
  house.directory.admin.addTrust(house.application.id, late)

  const removals = () =>
    house.directory.journal
      .entries({ operation: 'deleteFederatedCredential' })
      .filter(({ status }) => status === 204)
  await expect.poll(() => removals()).toHaveLength(2)
  await isSettled(house)
})

test('an application that is gone keeps no deletion waiting for its trust', async () => {
  const house = aHouse()
  await written(house)
  house.directory.fault({ kind: 'lost', operation: 'deleteFederatedCredential', times: null })
  await house.root.delete('cloud/roles/deploy')
  house.directory.admin.remove(house.application.id)
  house.directory.clearFaults()

  await isSettled(house)
})

// docs/contract/cloud.md#preflight
test('the check of trusts finds those that are missing or for other tokens, and applications that are full', async () => {
  // it changes the issuer of the server
  await using own = await startCloudFixture()
  const house = aHouse(own)
  const check = async () => {
    const { body } = await house.root.read('cloud/config/check')
    const checks = body.data?.['checks'] as unknown as { name: string; ok: boolean; detail: string }[]
    return checks.find(({ name }) => name === 'federated_credentials')
  }
  const { id } = house.application
  const count = (trusts: number) => `application ${id} has ${trusts} of 20 trusts, and no other has more`
  const repair = 'write the roles again, which repairs their trusts'
  const none = await check()
  await written(house)
  const right = await check()
  await house.root.write('identity/oidc/config', { issuer: 'https://moved.example.com' })
  const moved = await check()
  await written(house)
  const repaired = await check()
  const [trust] = trustsOf(house)
  house.directory.admin.remove(trust?.id ?? '')
  for (let at = 0; at < 20; at++)
    house.directory.admin.addTrust(id, { issuer: 'https://other', subject: `subject-${at}` })
  const full = await check()
  const refused = await written(house)

  expect(none).toBeUndefined()
  for (const one of [right, repaired])
    expect(one).toEqual({ name: 'federated_credentials', ok: true, detail: count(1), fix: '' })
  expect(moved).toEqual({
    name: 'federated_credentials',
    ok: false,
    fix: repair,
    detail: `role deploy: the trust of application ${id} is for other tokens; ${count(1)}`,
  })
  expect(full).toEqual({
    name: 'federated_credentials',
    ok: false,
    detail: `role deploy: application ${id} has no trust for it; ${count(20)}`,
    fix: `remove trusts that nobody needs: az ad app federated-credential list, then delete; ${repair}`,
  })
  expect(refused.status).toBe(400)
})
