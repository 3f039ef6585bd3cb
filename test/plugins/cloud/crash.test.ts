import { copyFile } from 'node:fs/promises'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import type { Operation } from '../../../simulators/directory/operations.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { StorageFaults } from '../../../src/storage/faults.ts'
import type { Client } from '../../support/client.ts'
import { hastyCloudTimes } from '../../support/hasty-cloud-times.ts'
import { startTestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'
import { guids } from './cloud-fixture.ts'
import { until } from './credential-steps.ts'

const moments = ['storage.before-commit', 'storage.after-commit'] as const
type Moment = (typeof moments)[number]

/**
 * A stand-in, and servers in this process that crash. At the moment of a crash, the writes of a server hang and its
 * files are copied. Then it ends while the stand-in is down, and tries nothing again, so that nothing it still does
 * has an effect. The next one starts with the copy, as after kill -9.
 */
async function aWorld() {
  const stack = new AsyncDisposableStack()
  const folder = stack.use(await temporaryFolder())
  const directory = stack.use(await startDirectory())
  const launch = async (store: string, patienceMs = 300) => {
    const faults = new StorageFaults()
    const ending = new AbortController()
    const times = hastyCloudTimes(patienceMs)
    const pause = async (milliseconds: number, signal = ending.signal) => {
      await times.pause(milliseconds, AbortSignal.any([signal, ending.signal]))
      ending.signal.throwIfAborted()
    }
    const server = await startTestServer({
      settings: {
        STORAGE: `sqlite:${store}`,
        SEAL_KEY_FILE: folder.file('seal.key'),
        DEFAULT_MOUNTS: 'cloud=cloud',
      },
      environment: {
        CLOUD_AUTHORITY_HOST: directory.authorityUrl,
        CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
        CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
        CLOUD_CA_FILE: directory.caFile,
      },
      faults,
      cloudTimes: { ...times, pause },
    })
    return { server, faults, ending, store }
  }
  let crashes = 0
  let current = await launch(folder.file('0.db'))
  stack.defer(() => current.server[Symbol.asyncDispose]())
  await configure(current.server.root, directory)
  return {
    directory,
    get root() {
      return current.server.root
    },
    /** Makes a later write hang at this moment. */
    arm: (moment: Moment, skip: number) => current.faults.arm(moment, 'hang', skip),
    /** Resolves when that write hangs. */
    hangs: () => until(() => !moments.some((moment) => current.faults.isArmed(moment))),
    /**
     * Lets the server crash and starts the next one. Requests that are held upstream are released in between,
     * unless they are meant to come late. The next server looks this long for what it does not find.
     */
    crash: async ({ isLate = false, patienceMs = 300 } = {}) => {
      const { server, faults, ending, store } = current
      faults.arm('storage.before-commit', 'hang')
      crashes += 1
      const copy = folder.file(`${crashes}.db`)
      for (const part of ['', '-wal']) await copyFile(`${store}${part}`, `${copy}${part}`)
      await directory.goDown()
      ending.abort()
      for (const moment of moments) faults.disarm(moment)
      await server[Symbol.asyncDispose]()
      await directory.comeBack()
      if (!isLate) directory.release()
      directory.clearFaults()
      directory.journal.clear()
      current = await launch(copy, patienceMs)
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  }
}

const readers = ({ subscriptionId }: Directory, ...groups: readonly string[]): string =>
  JSON.stringify(
    groups.map((group) => ({
      role_id: `/subscriptions/${subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`,
      scope: `/subscriptions/${subscriptionId}/resourceGroups/${group}`,
    })),
  )

const orderReader = ({ orders }: Directory) => ({
  cloud_app_roles: JSON.stringify([{ app_id: orders.appId, role_name: 'Orders.Read' }]),
})

async function configure(root: Client, directory: Directory): Promise<void> {
  await root.write('cloud/config', {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  })
  const role = {
    cloud_roles: readers(directory, 'web'),
    cloud_groups: '[{"group_name":"foo"}]',
    permanently_delete: true,
  }
  await root.write('cloud/roles/ci', role)
  await root.write('cloud/roles/granted', { ...role, ...orderReader(directory) })
}

async function debris(root: Client): Promise<{ error: string }[]> {
  const { status, text, body } = await root.read('cloud/debris')
  if (status !== 200) throw new Error(`debris: ${status} ${text}`)
  return (body.data as unknown as { objects: { error: string }[] }).objects
}
/** What exists upstream since the test began. */
const living = (directory: Directory) =>
  directory
    .inventory()
    .filter(({ deleted, kind, id }) => (!deleted || kind === 'role-assignment') && !earlier.has(id))
const passwords = (directory: Directory) => living(directory).filter(({ kind }) => kind === 'password')
const leases = async (root: Client, role = 'ci') =>
  (await root.list(`sys/leases/lookup/cloud/creds/${role}`)).status

const pooled = (name: string, size: number) =>
  world.root.write(`cloud/roles/${name}`, {
    cloud_roles: readers(world.directory, 'web'),
    permanently_delete: true,
    pool: size,
  })
async function pool(root: Client, name: string) {
  const { body } = await root.read('cloud/pool')
  const { roles } = body.data as unknown as { roles: { role: string; ready: number; error: string }[] }
  return roles.find(({ role }) => role === name)
}
/** What a credential of such a role is upstream. */
const whole = ['application', 'service-principal', 'password', 'role-assignment']

/** The calls that create a credential, in reverse order. */
const creation = [
  'assignAppRole',
  'addGroupMember',
  'putRoleAssignment',
  'addServicePrincipalPassword',
  'createServicePrincipal',
  'createApplication',
] as const
/** The calls that revoke one, in reverse order. */
const revocation = [
  'purgeDeleted',
  'deleteApplication',
  'deleteServicePrincipal',
  'deleteAppRoleAssignment',
  'deleteRoleAssignment',
] as const

/** Waits for these calls, so that none of them takes the fault meant for the next credential. */
const allArrived = (operations: readonly Operation[]) =>
  Promise.all(operations.map((operation) => world.directory.journal.arrived(operation)))

/** Sends a request and ignores a missing response. */
const asking = (asked: Promise<unknown>) => asked.catch(() => undefined)

let world: Awaited<ReturnType<typeof aWorld>>
/** The ids of what a test before left upstream. */
let earlier: ReadonlySet<string> = new Set()
beforeAll(async () => {
  world = await aWorld()
})
beforeEach(() => {
  earlier = new Set(world.directory.inventory().map(({ id }) => id))
})
afterEach(async () => void (await asking(world.root.write('sys/leases/revoke-prefix/cloud/creds'))))
afterAll(() => world[Symbol.asyncDispose]())

describe('a crash while a credential is issued', () => {
  test('after each of the calls took effect upstream: the next start undoes all of them', async () => {
    const { directory } = world
    const cut: Promise<unknown>[] = []
    for (const [at, operation] of creation.entries()) {
      directory.journal.clear()
      directory.fault({ kind: 'held', operation })
      cut.push(asking(world.root.read('cloud/creds/granted')))
      await allArrived(creation.slice(at))
    }
    const applications = () => living(directory).filter(({ kind }) => kind === 'application')
    await until(() => applications().length === cut.length)

    await world.crash()
    await Promise.all(cut)

    await until(async () => (await debris(world.root)).length === 0)
    expect([living(directory), await leases(world.root, 'granted')]).toEqual([[], 404])
  })

  test.each([
    { point: 'storage.before-commit', skip: 0, isThere: false },
    { point: 'storage.after-commit', skip: 0, isThere: false },
    { point: 'storage.before-commit', skip: 2, isThere: false },
    { point: 'storage.after-commit', skip: 2, isThere: true },
  ] as const)(
    'at $point of write $skip: the credential has its lease or does not exist',
    async ({ point, skip, isThere }) => {
      const { directory } = world
      world.arm(point, skip)
      const cut = asking(world.root.read('cloud/creds/ci'))
      await world.hangs()

      await world.crash()
      await cut

      await until(async () => (await debris(world.root)).length === 0)
      expect(living(directory).map(({ kind }) => kind)).toEqual(
        isThere ? ['application', 'service-principal', 'password', 'role-assignment', 'group-member'] : [],
      )
      expect(await leases(world.root)).toBe(isThere ? 200 : 404)
    },
  )
})

describe('a crash while a credential is made ahead', () => {
  test.each([
    { point: 'storage.before-commit', skip: 1 },
    { point: 'storage.after-commit', skip: 1 },
    { point: 'storage.after-commit', skip: 2 },
    { point: 'storage.before-commit', skip: 3 },
    { point: 'storage.after-commit', skip: 3 },
  ] as const)(
    'at $point of write $skip: the pool is filled after the next start, and nothing else is left',
    async ({ point, skip }) => {
      const { directory } = world
      world.arm(point, skip)
      const cut = asking(pooled('ahead', 1))
      await world.hangs()

      await world.crash()
      await cut

      await until(async () => (await pool(world.root, 'ahead'))?.ready === 1)
      await until(async () => (await debris(world.root)).length === 0)
      expect(living(directory).map(({ kind }) => kind)).toEqual(whole)
      await world.root.delete('cloud/roles/ahead')
      await until(() => living(directory).length === 0)
    },
  )

  test('after each of the calls took effect upstream: the next start undoes them, and fills the pool', async () => {
    const { directory } = world
    for (const operation of ['createApplication', 'putRoleAssignment', 'token'] as const)
      directory.fault({ kind: 'held', operation })
    await asking(pooled('ahead', 4))
    await directory.journal.arrived('createApplication')

    await world.crash()

    await until(async () => (await pool(world.root, 'ahead'))?.ready === 4)
    await until(async () => (await debris(world.root)).length === 0)
    expect(living(directory)).toHaveLength(4 * whole.length)
    await world.root.delete('cloud/roles/ahead')
    await until(() => living(directory).length === 0)
  })
})

describe('a crash while a credential of the pool is handed out', () => {
  test.each([
    { point: 'storage.before-commit', skip: 0, fate: 'is still in the pool' },
    { point: 'storage.after-commit', skip: 0, fate: 'is undone' },
    { point: 'storage.before-commit', skip: 1, fate: 'is undone' },
    { point: 'storage.after-commit', skip: 1, fate: 'has its lease' },
  ] as const)('at $point of write $skip, the credential $fate', async ({ point, skip, fate }) => {
    const { directory } = world
    // the pause after a failure is that of a role
    const name = `out-${point.slice('storage.'.length)}-${skip}`
    await pooled(name, 1)
    await until(async () => (await pool(world.root, name))?.ready === 1)
    const [made] = living(directory)
    // a refill that has just failed writes nothing for a while
    const refused = { kind: 'status', status: 400, code: 'Request_BadRequest', times: null } as const
    directory.fault({ ...refused, operation: 'createApplication' })
    await pooled(name, 2)
    await until(async () => (await pool(world.root, name))?.error !== '')
    await until(async () => (await debris(world.root)).length === 0)
    world.arm(point, skip)
    const cut = asking(world.root.read(`cloud/creds/${name}`))
    await world.hangs()

    await world.crash()
    await cut

    await until(async () => (await debris(world.root)).length === 0)
    const left = living(directory).filter(({ clientId }) => clientId === made?.clientId)
    expect(left.map(({ kind }) => kind)).toEqual(fate === 'is undone' ? [] : whole)
    expect(await leases(world.root, name)).toBe(fate === 'has its lease' ? 200 : 404)
    expect((await pool(world.root, name))?.ready).toBe(fate === 'is still in the pool' ? 1 : 0)
    await world.root.delete(`cloud/roles/${name}?revoke=true`)
    await until(() => living(directory).length === 0)
  })
})

/** Updates of roles, and the call that undoes each. */
const updates = [
  {
    name: 'assigned',
    operation: 'putRoleAssignment',
    removal: 'deleteRoleAssignment',
    grant: (directory: Directory) => ({ cloud_roles: readers(directory, 'web', 'data') }),
  },
  {
    name: 'joined',
    operation: 'addGroupMember',
    removal: 'removeGroupMember',
    grant: () => ({ cloud_groups: '[{"group_name":"foo"}]' }),
  },
  { name: 'allowed', operation: 'assignAppRole', removal: 'listAppRoleAssignments', grant: orderReader },
] as const

test('a crash in updates of roles: what takes effect after the first undo is undone too', async () => {
  const { directory, root } = world
  for (const { name } of updates)
    await root.write(`cloud/roles/${name}`, {
      cloud_roles: readers(directory, 'web'),
      persist_app: true,
      permanently_delete: true,
    })
  const before = living(directory)
  directory.journal.clear()
  const cut: Promise<unknown>[] = []
  for (const { name, operation, grant } of updates) {
    directory.fault({ kind: 'late', operation })
    cut.push(asking(root.write(`cloud/roles/${name}`, grant(directory))))
    await directory.journal.arrived(operation)
  }

  // what it looks for must not be given up before it is released, on a busy machine either
  await world.crash({ isLate: true, patienceMs: 10_000 })
  await Promise.all(cut)
  await allArrived(updates.map(({ removal }) => removal))
  await until(
    async () => (await debris(world.root)).filter((one) => one.error !== '').length === updates.length,
  )
  directory.release()

  await until(async () => (await debris(world.root)).length === 0)
  expect(living(directory)).toEqual(before)
  for (const { name } of updates) await world.root.delete(`cloud/roles/${name}`)
})

/** What is done to a federated role, and the call that repairs its trust. */
const trusts = [
  {
    what: 'deletion',
    operation: 'deleteFederatedCredential',
    repair: 'updateFederatedCredential',
    isKept: true,
  },
  {
    what: 'write',
    operation: 'updateFederatedCredential',
    repair: 'deleteFederatedCredential',
    isKept: false,
  },
] as const

test('a crash in changes of federated roles: their trust agrees with the role, however late the call takes effect', async () => {
  const { directory, root } = world
  const roles = trusts.map((one) => {
    const { id } = directory.admin.addApplication({ displayName: `trusting ${one.what}` })
    return {
      ...one,
      path: `cloud/roles/${one.what}`,
      role: { credential_type: 'federated', application_object_id: id },
    }
  })
  const there = () => living(directory).filter(({ kind }) => kind === 'federated-credential')
  for (const { what, path, role } of roles) if (what === 'deletion') await root.write(path, role)
  directory.journal.clear()
  const cut: Promise<unknown>[] = []
  for (const { what, path, role, operation } of roles) {
    directory.fault({ kind: 'late', operation })
    cut.push(asking(what === 'deletion' ? root.delete(path) : root.write(path, role)))
    await directory.journal.arrived(operation)
  }

  await world.crash({ isLate: true })
  await Promise.all(cut)
  await allArrived(trusts.map(({ repair }) => repair))
  directory.release()

  await until(async () => (await debris(world.root)).length === 0)
  expect(there()).toHaveLength(1)
  for (const { path, isKept } of roles)
    expect((await world.root.read(path)).status, path).toBe(isKept ? 200 : 404)
  await world.root.delete('cloud/roles/deletion')
})

test('a crash in revocations, after each of their calls: the next start ends them', async () => {
  const { directory } = world
  for (const [at, operation] of revocation.entries()) {
    const { body } = await world.root.read('cloud/creds/granted')
    directory.journal.clear()
    directory.fault({ kind: 'held', operation })
    // ended: whatever becomes of the answer, the lease is over
    await world.root.write('sys/leases/revoke', { lease_id: body.lease_id, sync: false })
    await allArrived(revocation.slice(at))
  }

  await world.crash()

  await until(
    async () => (await leases(world.root, 'granted')) === 404 && (await debris(world.root)).length === 0,
  )
  expect(living(directory)).toEqual([])
})

test('a crash in rotations of static roles, after each of their calls: the stored passwords work, and no other is left', async () => {
  const { directory } = world
  const roles = ['added', 'proved', 'replaced'].map((name) => {
    const { id, appId } = directory.admin.addApplication({ displayName: name })
    return { name, id, appId }
  })
  for (const { name, id } of roles)
    await world.root.write(`cloud/static-roles/${name}`, {
      application_object_id: id,
      rotation_grace_period: -1,
    })
  const before = passwords(directory)
  const cut: Promise<unknown>[] = []
  const held = ['addApplicationPassword', 'token', 'removeApplicationPassword'] as const
  for (const [at, operation] of held.entries()) {
    directory.journal.clear()
    directory.fault({ kind: 'held', operation })
    cut.push(asking(world.root.write(`cloud/rotate-role/${roles[at]?.name}`, {})))
    await directory.journal.arrived(operation)
  }
  expect(passwords(directory).length).toBe(before.length + 2)

  await world.crash()
  await Promise.all(cut)

  await until(async () => (await debris(world.root)).length === 0)
  for (const { name, appId } of roles) {
    const { data } = (await world.root.read(`cloud/static-creds/${name}`)).body
    const there = passwords(directory).filter(({ clientId }) => clientId === appId)
    expect(there.map(({ secret }) => secret)).toEqual([data?.['client_secret']])
    await world.root.delete(`cloud/static-roles/${name}?revoke=true`)
  }
  expect(passwords(directory)).toEqual([])
})

describe('a crash around a forced revocation', () => {
  const refuseRemovals = () => {
    for (const operation of [
      'deleteRoleAssignment',
      'deleteServicePrincipal',
      'deleteApplication',
    ] as const) {
      world.directory.fault({
        kind: 'status',
        operation,
        status: 400,
        code: 'Request_BadRequest',
        times: null,
      })
    }
  }

  test.each(['storage.before-commit', 'storage.after-commit'] as const)(
    'at %s of the write that deletes the lease: the lease or its debris is stored',
    async (point) => {
      const { directory } = world
      expect((await world.root.read('cloud/creds/ci')).status).toBe(200)
      refuseRemovals()
      world.arm(point, 0)
      const cut = asking(world.root.write('sys/leases/revoke-force/cloud/creds/ci'))
      await world.hangs()

      await world.crash()
      await cut

      expect(
        [await leases(world.root), (await debris(world.root)).length > 0].filter(
          (one) => one === 200 || one === true,
        ),
      ).toHaveLength(1)
      await world.root.write('sys/leases/revoke-force/cloud/creds/ci')
      await until(async () => (await debris(world.root)).length === 0)
      expect(living(directory)).toEqual([])
    },
  )

  test('while the mount is being removed: the mount stays after the next start until its debris is gone', async () => {
    const { directory } = world
    await world.root.read('cloud/creds/ci')
    refuseRemovals()
    expect((await world.root.write('sys/leases/revoke-force/cloud/creds/ci')).status).toBe(204)
    directory.fault({ kind: 'silent', operation: 'deleteApplication', times: null })
    const cut = asking(world.root.delete('sys/mounts/cloud'))
    await until(async () => (await world.root.read('cloud/config')).status === 404)

    await world.crash()
    await cut

    await until(() => living(directory).length === 0)
    await until(async () => [204, 404].includes((await world.root.delete('sys/mounts/cloud')).status))
    expect((await world.root.write('sys/mounts/cloud', { type: 'cloud' })).status).toBe(204)
    await configure(world.root, directory)
  })
})
