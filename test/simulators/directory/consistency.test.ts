import { expect, test } from 'vitest'
import type { Directory } from '../../../simulators/directory/directory.ts'
import type { SettingsInput } from '../../../simulators/directory/settings.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import {
  type Actor,
  actAs,
  askToken,
  assignmentOf,
  filterPath,
  itemsOf,
  type Made,
  makeCredential,
  newAssignmentPath,
} from './client.ts'

type Scene = { directory: Directory; root: Actor; made: Made }
type Delay = keyof NonNullable<SettingsInput['delaySeconds']>
type Row = {
  delay: Delay
  /** Starts the change that has to propagate. */
  begin?(scene: Scene): Promise<unknown>
  /** Whether it has propagated. */
  arrived(scene: Scene): Promise<boolean>
}

const passwordsOf = ({ body }: { body: Record<string, unknown> }) =>
  Array.isArray(body.passwordCredentials) ? body.passwordCredentials.length : undefined

const isGood = ({ status }: { status: number }) => status < 300

// One row for each delay of simulators/directory/README.md
const rows: Row[] = [
  {
    delay: 'applicationToServicePrincipal',
    begin: async ({ root, made }) =>
      Object.assign(made, {
        appId: (await root.graph('POST', '/applications', { displayName: 'x' })).body.appId,
      }),
    arrived: async ({ root, made }) =>
      isGood(await root.graph('POST', '/servicePrincipals', { appId: made.appId })),
  },
  {
    delay: 'applicationToToken',
    arrived: async ({ directory, made }) =>
      isGood(await askToken(directory, { clientId: made.appId, secret: made.secret })),
  },
  {
    delay: 'secretToToken',
    arrived: async ({ directory, made }) =>
      isGood(await askToken(directory, { clientId: made.appId, secret: made.secret })),
  },
  {
    delay: 'removedSecretToToken',
    begin: ({ root, made }) =>
      root.graph('POST', `/servicePrincipals/${made.principalId}/removePassword`, { keyId: made.keyId }),
    arrived: async ({ directory, made }) =>
      !isGood(await askToken(directory, { clientId: made.appId, secret: made.secret })),
  },
  {
    delay: 'removedSecretToToken',
    begin: async ({ root, made }) => {
      await root.graph('DELETE', `/applications/${made.id}`)
      await root.graph('DELETE', `/directory/deletedItems/${made.id}`)
      await root.graph('DELETE', `/directory/deletedItems/${made.principalId}`)
    },
    arrived: async ({ directory, made }) =>
      !isGood(await askToken(directory, { clientId: made.appId, secret: made.secret })),
  },
  {
    delay: 'servicePrincipalToPassword',
    arrived: async ({ root, made }) =>
      isGood(await root.graph('POST', `/servicePrincipals/${made.principalId}/addPassword`)),
  },
  {
    delay: 'servicePrincipalToResourceManager',
    arrived: async ({ directory, root, made }) =>
      isGood(
        await root.arm(
          'PUT',
          newAssignmentPath(directory),
          assignmentOf(directory, made.principalId, { type: '' }),
        ),
      ),
  },
  {
    delay: 'servicePrincipalToGroup',
    arrived: async ({ directory, root, made }) => {
      const reference = { '@odata.id': `${directory.directoryUrl}/v1.0/directoryObjects/${made.principalId}` }
      return isGood(await root.graph('POST', `/groups/${directory.groupIds.foo}/members/$ref`, reference))
    },
  },
  {
    delay: 'deletedToBin',
    begin: ({ root, made }) => root.graph('DELETE', `/applications/${made.id}`),
    arrived: async ({ root, made }) => isGood(await root.graph('GET', `/directory/deletedItems/${made.id}`)),
  },
  {
    delay: 'deletedServicePrincipalName',
    begin: ({ root, made }) => root.graph('DELETE', `/servicePrincipals/${made.principalId}`),
    arrived: async ({ root, made }) =>
      isGood(await root.graph('POST', '/servicePrincipals', { appId: made.appId })),
  },
  {
    delay: 'changeToRead',
    arrived: async ({ root, made }) => isGood(await root.graph('GET', `/applications/${made.id}`)),
  },
  {
    delay: 'changeToRead',
    begin: ({ root, made }) => root.graph('DELETE', `/applications/${made.id}`),
    arrived: async ({ root, made }) =>
      !isGood(await root.graph('GET', `/servicePrincipals/${made.principalId}`)),
  },
  {
    delay: 'changeToRead',
    begin: ({ root, made }) => root.graph('POST', `/applications/${made.id}/addPassword`),
    arrived: async ({ root, made }) => passwordsOf(await root.graph('GET', `/applications/${made.id}`)) === 1,
  },
  {
    delay: 'changeToList',
    begin: ({ root, made }) =>
      root.graph('POST', `/servicePrincipals/${made.principalId}/removePassword`, { keyId: made.keyId }),
    arrived: async ({ root, made }) =>
      passwordsOf({
        body: {
          ...itemsOf(
            await root.graph('GET', filterPath('/servicePrincipals', `appId eq '${made.appId}'`)),
          )[0],
        },
      }) === 0,
  },
  {
    delay: 'changeToList',
    arrived: async ({ root, made }) =>
      itemsOf(await root.graph('GET', filterPath('/applications', `appId eq '${made.appId}'`))).length === 1,
  },
  {
    delay: 'changeToList',
    begin: ({ root, made }) => root.graph('DELETE', `/applications/${made.id}`),
    arrived: async ({ root, made }) =>
      itemsOf(await root.graph('GET', filterPath('/servicePrincipals', `appId eq '${made.appId}'`)))
        .length === 0,
  },
]

test.each(rows)('$delay takes effect exactly after its time', async ({ delay, begin, arrived }) => {
  const clock = new FakeClock()
  await using directory = await startDirectory({ now: () => clock.now() })
  const root = await actAs(directory)
  const made = await makeCredential(root)
  // everything that is not under test has propagated
  if (begin !== undefined) clock.advance(1000)
  const scene = { directory, root, made }
  directory.change({ delaySeconds: { [delay]: 30 } })
  await begin?.(scene)

  clock.advance(29)
  const before = await arrived(scene)
  clock.advance(1)
  const after = await arrived(scene)

  expect([before, after]).toEqual([false, true])
})

test('replicas learn of a secret one after the other, so responses change back and forth', async () => {
  const clock = new FakeClock()
  await using directory = await startDirectory({
    now: () => clock.now(),
    settings: { replicas: 3, delaySeconds: { secretToToken: 30 } },
  })
  const { appId, secret } = await makeCredential(await actAs(directory))
  const statuses = async () => {
    const answers: number[] = []
    for (let turn = 0; turn < 6; turn += 1)
      answers.push((await askToken(directory, { clientId: appId, secret })).status)
    return answers
  }

  const good: number[] = []
  for (let step = 0; step < 4; step += 1) {
    good.push((await statuses()).filter((status) => status === 200).length)
    clock.advance(10)
  }

  expect(good).toEqual([0, 2, 4, 6])
})

test('an application that has not reached all replicas is refused in three ways in turn', async () => {
  await using directory = await startDirectory({
    settings: { delaySeconds: { applicationToServicePrincipal: 30 } },
  })
  const root = await actAs(directory)
  const { appId } = (await root.graph('POST', '/applications', { displayName: 'x' })).body
  const ask = async () => (await root.graph('POST', '/servicePrincipals', { appId })).body

  const bodies = [await ask(), await ask(), await ask(), await ask()]

  expect(bodies).toMatchObject([
    { error: { code: 'Request_ResourceNotFound' } },
    {
      error: {
        code: 'Request_BadRequest',
        details: [{ code: 'NoBackingApplicationObject', target: 'appId' }],
      },
    },
    { error: { code: 'Authorization_RequestDenied', message: expect.stringContaining('local tenant') } },
    { error: { code: 'Request_ResourceNotFound' } },
  ])
})

test('with the principal type, the resource manager does not wait for the principal', async () => {
  await using directory = await startDirectory({
    settings: { delaySeconds: { servicePrincipalToResourceManager: 1000 } },
  })
  const root = await actAs(directory)
  const { principalId } = await makeCredential(root)

  const without = await root.arm(
    'PUT',
    newAssignmentPath(directory),
    assignmentOf(directory, principalId, { type: '' }),
  )
  const withType = await root.arm('PUT', newAssignmentPath(directory), assignmentOf(directory, principalId))

  expect(without).toMatchObject({ status: 400, body: { error: { code: 'PrincipalNotFound' } } })
  expect(withType.status).toBe(201)
})

test("the stand-in's clock can be ahead, and every response shows it", async () => {
  const clock = new FakeClock(1_800_000_000_000)
  await using directory = await startDirectory({
    now: () => clock.now(),
    settings: { clockOffsetSeconds: 600 },
  })

  const first = await askToken(directory)
  directory.advance(60)
  const second = await askToken(directory)

  expect([first.headers.date, second.headers.date]).toEqual([
    'Fri, 15 Jan 2027 08:10:00 GMT',
    'Fri, 15 Jan 2027 08:11:00 GMT',
  ])
})
