import { expect, test } from 'vitest'
import type { View } from '../../../src/core/barrier/view.ts'
import { OutboundClient } from '../../../src/core/outbound/outbound.ts'
import { CheckQueue } from '../../../src/jwt/jws/check-queue.ts'
import { SharedSources } from '../../../src/jwt/keys/shared-sources.ts'
import type { Clock } from '../../../src/lib/system/clock.ts'
import { readConfig } from '../../../src/plugins/jwt-auth/config/jwt-config.ts'
import { MountState } from '../../../src/plugins/jwt-auth/config/mount-state.ts'
import { readRole, shownRole } from '../../../src/plugins/jwt-auth/config/role.ts'
import { openCoreView } from '../../support/core-view.ts'
import { openSharedCores } from '../../support/shared-cores.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner } from './signer.ts'

const client = '192.0.2.1'
const outbound = new OutboundClient({ deny: [] })

const openState = (view: View, clock: Clock, sources?: SharedSources) =>
  stateOf(view.view('mount/', { numbers: 'literal' }), clock, sources)

const stateOf = (mountView: View, clock: Clock, sources = new SharedSources({ outbound, clock })) =>
  new MountState(mountView, {
    sources,
    clock,
    queue: new CheckQueue(64),
    limits: { maxTokenSize: 0 },
    onFetch: () => {},
  })

test('fields of a later version survive writes of the configuration and of a role', async () => {
  await using core = await openCoreView()
  const view = core.view.view('mount/', { numbers: 'literal' })
  const state = openState(core.view, core.clock)
  await view.write([
    { key: 'config', value: { jwt_validation_pubkeys: ['old'], of_later: true } },
    { key: 'role/dev', value: { role_type: 'jwt', user_claim: 'sub', policies: ['a'], of_later: true } },
  ])

  await state.changeConfig((before) => {
    if (before === undefined) throw new Error('there is no configuration')
    return { ...before, jwt_validation_pubkeys: ['new'] }
  })
  await state.roles.change('dev', (before) => ({
    ...before?.record,
    user_claim: 'email',
    policies: undefined,
  }))

  expect(await view.get('config')).toMatchObject({ jwt_validation_pubkeys: ['new'], of_later: true })
  expect(await view.get('role/dev')).toEqual({
    bound_claims_type: 'string',
    role_type: 'jwt',
    user_claim: 'email',
    of_later: true,
  })
})

test('a stored role without types is read as one from before types existed', async () => {
  expect(shownRole(readRole('r', { user_claim: 'sub', bound_subject: 's' }))).toMatchObject({
    role_type: 'jwt',
    bound_claims_type: 'string',
  })
})

test('what another server writes replaces the copies, and a report of an unchanged record replaces nothing', async () => {
  await using cores = await openSharedCores()
  const { one, other } = cores
  const [here, there] = [openState(one.view, one.clock), openState(other.view, other.clock)]
  const config = (issuer: string) => readConfig({ jwt_validation_pubkeys: ['a'], bound_issuer: issuer })
  await here.changeConfig(() => config('old'))
  await here.roles.change('dev', () => ({ role_type: 'jwt', user_claim: 'sub' }))
  const copy = await there.findConfig()
  expect((await there.roles.find('dev'))?.record.user_claim).toBe('sub')

  await other.hear()
  expect(await there.findConfig()).toBe(copy)
  await here.changeConfig(() => config('new'))
  await here.roles.change('dev', () => ({ role_type: 'jwt', user_claim: 'email' }))
  await other.hear()

  expect((await there.findConfig())?.config.bound_issuer).toBe('new')
  expect((await there.roles.find('dev'))?.record.user_claim).toBe('email')
  await here.roles.delete('dev')
  await other.hear()
  expect(await there.roles.find('dev')).toBeUndefined()
})

test('the list of roles follows every write, by this server or another one', async () => {
  await using cores = await openSharedCores()
  const { one, other } = cores
  const [here, there] = [openState(one.view, one.clock), openState(other.view, other.clock)]
  const lists = async () => [await here.roles.names(), await there.roles.names()]
  expect(await lists()).toEqual([[], []])

  await here.roles.change('b', () => ({ role_type: 'jwt', user_claim: 'sub' }))
  await other.hear()
  expect(await lists()).toEqual([['b'], ['b']])
  await there.roles.change('a', () => ({ role_type: 'jwt', user_claim: 'sub' }))
  await one.hear()
  expect(await lists()).toEqual([
    ['a', 'b'],
    ['a', 'b'],
  ])
  await here.roles.delete('b')
  await other.hear()
  expect(await lists()).toEqual([['a'], ['a']])
})

test('a list of roles that is read during a write is not kept', async () => {
  await using core = await openCoreView()
  const view = core.view.view('mount/', { numbers: 'literal' })
  const state = stateOf(
    listedBefore(view, () => writeOnce()),
    core.clock,
  )
  const writeOnce = once(() => state.roles.change('dev', () => ({ role_type: 'jwt', user_claim: 'sub' })))

  expect(await state.roles.names()).toEqual([])
  expect(await state.roles.names()).toEqual(['dev'])
})

/** A view whose lists of keys end after `write`. */
const listedBefore = (view: View, write: () => Promise<unknown>): View =>
  new Proxy(view, {
    get: (target, name: keyof View) =>
      name === 'listKeys'
        ? async (prefix: string) => {
            const keys = await target.listKeys(prefix)
            await write()
            return keys
          }
        : target[name].bind(target),
  })

function once(work: () => Promise<unknown>): () => Promise<unknown> {
  let done: Promise<unknown> | undefined
  return () => (done ??= work())
}

test('a report that arrives while the configuration is read does not hold up the read', async () => {
  await using cores = await openSharedCores()
  const { one, other } = cores
  const here = openState(one.view, one.clock)
  const there = stateOf(
    readBefore(other.view.view('mount/', { numbers: 'literal' }), () => other.hear()),
    other.clock,
  )
  const config = (issuer: string) => readConfig({ jwt_validation_pubkeys: ['a'], bound_issuer: issuer })
  await here.changeConfig(() => config('old'))

  expect((await there.findConfig())?.config.bound_issuer).toBe('old')
  await here.changeConfig(() => config('new'))
  await there.findConfig()
  expect((await there.findConfig())?.config.bound_issuer).toBe('new')
})

/** A view whose reads end after `report`. */
const readBefore = (view: View, report: () => Promise<void>): View =>
  new Proxy(view, {
    get: (target, name: keyof View) =>
      name === 'read'
        ? async (key: string) => {
            const record = await target.read(key)
            await report()
            return record
          }
        : target[name].bind(target),
  })

test('after another server has written the configuration, only keys fetched since then count', async () => {
  const signer = aSigner('ES256', { kid: 'a' })
  await using issuer = await startProvider({ '/keys': jwksOf(signer) })
  await using cores = await openSharedCores()
  const { one, other } = cores
  const [here, there] = [openState(one.view, one.clock), openState(other.view, other.clock)]
  const config = readConfig({ jwks_url: `${issuer.url}/keys` })
  const verify = async () => (await there.findConfig())?.keyset.verify(signer.sign({ sub: 'bob' }), client)
  await here.changeConfig(() => config)
  await verify()
  await verify()
  await other.hear()
  await verify()
  expect(issuer.hits).toEqual(['/keys'])

  await here.changeConfig(() => config)
  await other.hear()
  await verify()
  await verify()

  expect(issuer.hits).toEqual(['/keys', '/keys'])
})

test('keys for another mount that were fetched before do not count, even if this server wrote the configuration first', async () => {
  const signer = aSigner('ES256', { kid: 'a' })
  await using issuer = await startProvider({ '/keys': jwksOf(signer) })
  await using cores = await openSharedCores()
  const { one, other } = cores
  const sources = new SharedSources({ outbound, clock: other.clock })
  const here = openState(one.view, one.clock)
  const there = openState(other.view, other.clock, sources)
  const neighbour = openState(other.view.view('neighbour/'), other.clock, sources)
  const config = readConfig({ jwks_url: `${issuer.url}/keys` })
  const verify = async (state: MountState) =>
    (await state.findConfig())?.keyset.verify(signer.sign({ sub: 'bob' }), client)
  for (const state of [there, neighbour]) await state.changeConfig(() => config)
  await other.hear()
  await verify(neighbour)
  expect(issuer.hits).toHaveLength(1)

  await here.changeConfig(() => config)
  await other.hear()
  await verify(there)

  expect(issuer.hits).toHaveLength(2)
})

test('a configuration that another server has written since this one started needs keys fetched since then', async () => {
  const signer = aSigner('ES256', { kid: 'a' })
  await using issuer = await startProvider({ '/keys': jwksOf(signer) })
  await using core = await openCoreView()
  const { view, clock } = core
  const config = readConfig({ jwks_url: `${issuer.url}/keys` })
  const before = openState(view, clock)
  await before.changeConfig(() => config)
  clock.advance(1)
  const sources = new SharedSources({ outbound, clock })
  const verify = async () =>
    (await openState(view, clock, sources).findConfig())?.keyset.verify(signer.sign({ sub: 'bob' }), client)

  await verify()
  await verify()
  expect(issuer.hits).toHaveLength(1)
  clock.advance(1)
  await before.changeConfig(() => config)
  await verify()

  expect(issuer.hits).toHaveLength(2)
})
