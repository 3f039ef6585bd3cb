import { expect, test } from 'vitest'
import { startDirectory } from '../../../../simulators/directory/start-directory.ts'
import type { Lease } from '../../../../src/core/leases/lease.ts'
import { rootNamespace } from '../../../../src/core/namespaces/namespace.ts'
import { CloudEngine } from '../../../../src/plugins/cloud/engine.ts'
import type { RoleInput } from '../../../../src/plugins/cloud/roles/role-input.ts'
import { writeRole } from '../../../../src/plugins/cloud/roles/write-role.ts'
import { openSharedCores, type SharedCore } from '../../../support/shared-cores.ts'
import { guids } from '../cloud-fixture.ts'
import { until } from '../credential-steps.ts'
import { PausingClock } from '../upstream/aimed.ts'

const correlationId = '9c1d8f30-0000-4000-8000-000000000001'
const call = { requestId: correlationId, path: 'cloud/creds/ci' }

/** Two engines, of two servers, with one mount and one stand-in for the cloud. */
async function openEngines(pauseOfOne?: (ms: number) => Promise<void>) {
  await using stack = new AsyncDisposableStack()
  const clock = new PausingClock(Date.UTC(2026, 4, 5, 6, 7, 8))
  const directory = stack.use(await startDirectory({ now: () => clock.now() }))
  const cores = stack.use(
    await openSharedCores(() => ({
      clock,
      defaultMounts: [{ table: 'secret', path: 'cloud', type: 'cloud' }],
    })),
  )
  const open = (core: SharedCore, pause = clock.pause) => {
    const operator = {
      authorityHost: directory.authorityUrl,
      directoryEndpoint: directory.directoryUrl,
      resourceManagerEndpoint: directory.resourceManagerUrl,
      caPem: directory.ca,
    }
    const engine = stack.use(new CloudEngine({ ...core, operator, pause }))
    const mount = core.mounts.table.at(rootNamespace.id, 'cloud/')
    if (mount === undefined) throw new Error('there is no mount')
    const scope = (group: string) => `/subscriptions/${directory.subscriptionId}/resourceGroups/${group}`
    const role_id = `/subscriptions/${directory.subscriptionId}/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`
    const state = engine.stateOf(mount)
    return {
      engine,
      mount,
      state,
      core,
      putRole: (input: Partial<RoleInput> = {}, groups = ['web']) => {
        const cloud_roles = JSON.stringify(groups.map((group) => ({ role_id, scope: scope(group) })))
        // the schema of the route makes the rest absent
        const sent = { cloud_roles, ...input } as RoleInput
        return writeRole('ci', sent, engine.work(mount, correlationId))
      },
      make: () =>
        engine.credentials.make({
          call,
          mount,
          caller: undefined,
          role: 'ci',
          input: {},
          whenGone: () => () => {},
        }),
      intents: () => state.intents.all(),
    }
  }
  const [one, other] = [open(cores.one, pauseOfOne), open(cores.other)]
  await one.engine.putConfig(one.mount, {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  })
  const held = stack.move()
  return {
    directory,
    clock,
    one,
    other,
    /** What exists upstream. */
    things: () => directory.inventory().filter(({ deleted }) => !deleted),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** The other server takes the first one for dead, which continues, and removes what it finds. */
async function takeOver({ one, other, things }: Awaited<ReturnType<typeof openEngines>>): Promise<void> {
  await other.state.intents.adopt('gone')
  expect(await other.state.intents.debris()).toEqual([])
  one.core.storage.die()
  await other.state.intents.adopt('gone')
  await until(async () => things().length === 0)
}

test('what a server that is alive is creating stays, and is undone once that server is gone', async () => {
  await using engines = await openEngines()
  const { directory, one, other, things } = engines
  await one.putRole()
  directory.fault({ kind: 'held', operation: 'createServicePrincipal', times: 1 })
  const made = one.make().catch((error: unknown) => error)
  await until(() => things().some(({ kind }) => kind === 'service-principal'))

  await takeOver(engines)

  expect((await other.intents()).map(({ owner }) => owner)).not.toContain(one.core.servers.ownId)
  directory.release()
  await made
})

test('a credential that a paused server completes after another one has taken over is refused and undone', async () => {
  await using engines = await openEngines()
  const { directory, clock, one, other, things } = engines
  await one.putRole()
  directory.fault({ kind: 'held', operation: 'addServicePrincipalPassword', times: 1 })
  const made = one.make().catch((error: unknown) => error)
  await until(() => things().some(({ kind }) => kind === 'password'))
  await takeOver(engines)

  directory.release()

  expect(await made).toMatchObject({ kind: 'unavailable' })
  // until then, a call that was cut off may still take effect
  await until(async () => {
    clock.advance(601)
    for (const { state } of [one, other]) await state.intents.undoAll()
    return (await one.intents()).length === 0
  })
  expect(things()).toEqual([])
})

test('a lease cannot be stored once another server has taken over what it owns', async () => {
  await using engines = await openEngines()
  const { one } = engines
  await one.putRole()
  const { secret } = await one.make()
  // only what the entries are made of
  const entries = secret.alongside?.({ id: 'cloud/creds/ci/1', namespace: 'root' } as Lease) ?? []
  expect(entries.length).toBeGreaterThan(1)

  await takeOver(engines)

  expect(await one.core.root.write(entries)).toBe(false)
})

test('an application that a paused server completes for a role, after another one has taken over, is undone', async () => {
  await using engines = await openEngines()
  const { directory, one, other, things } = engines
  directory.fault({ kind: 'held', operation: 'createServicePrincipal', times: 1 })
  const written = one.putRole({ persist_app: true }).catch((error: unknown) => error)
  await until(() => things().some(({ kind }) => kind === 'service-principal'))
  await takeOver(engines)

  directory.release()

  expect(await written).toBeInstanceOf(Error)
  await until(() => things().length === 0)
  await until(async () => (await one.intents()).length === 0)
  expect(await one.state.roleNames()).toEqual([])
  await other.putRole({ persist_app: true })
  expect(things().filter(({ kind }) => kind === 'application')).toHaveLength(1)
})

test('a right that a paused server grants after another one has completed the undo is removed again', async () => {
  const paused = Promise.withResolvers<void>()
  const resumed = Promise.withResolvers<void>()
  await using engines = await openEngines(async () => {
    paused.resolve()
    await resumed.promise
  })
  const { directory, clock, one, other, things } = engines
  await one.putRole({ persist_app: true })
  directory.fault({ kind: 'throttled', operation: 'putRoleAssignment', retryAfterSeconds: 1, times: 1 })
  const written = one.putRole({ persist_app: true }, ['web', 'data']).catch((error: unknown) => error)
  await paused.promise
  one.core.storage.die()
  expect(await other.state.intents.undoAll()).toHaveLength(1)
  clock.advance(61)
  await until(async () => (await other.state.intents.undoAll()).length === 0)

  resumed.resolve()

  expect(await written).toMatchObject({ kind: 'unavailable' })
  await until(() => things().filter(({ kind }) => kind === 'role-assignment').length === 1)
})
