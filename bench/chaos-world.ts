import { join } from 'node:path'
import type { Directory } from '../simulators/directory/directory.ts'
import type { SettingsInput } from '../simulators/directory/settings.ts'
import { startDirectory } from '../simulators/directory/start-directory.ts'
import { type Answer, type Call, send, sendSuccessfully } from '../simulators/operator.ts'
import { type ServerProcess, startServerProcess } from '../simulators/server-process.ts'

/** A request without a response: the server was killed or took too long. It may have taken effect. */
export class NoAnswer extends Error {}

/** A server that can be killed, and the stand-in for the cloud, which keeps running. */
export type ChaosWorld = AsyncDisposable & {
  readonly directory: Directory
  /** Object id and client id of an application that existed before. */
  readonly theirs: { readonly id: string; readonly appId: string }
  /** The application that trusts the role `trusting` while that exists. */
  readonly trusting: { readonly id: string; readonly appId: string }
  /** The applications of the static roles, by the name of the role. */
  readonly rotated: ReadonlyMap<StaticRoleName, { readonly id: string; readonly appId: string }>
  /** Waits until a server is up, then sends the request. Throws NoAnswer. */
  call(call: Omit<Call, 'token'>): Promise<Answer>
  /** Kills the server with SIGKILL and starts the next one. */
  kill(): Promise<void>
}

/**
 * Their credentials have applications of their own; those of `certified` have a certificate instead of a secret, and
 * those of `appointed` have app roles. That one belongs to the mount that signs in with a certificate.
 */
export const dynamicRoles = ['plain', 'forgood', 'grouped', 'certified', 'appointed'] as const
export const sharedRoles = ['static', 'persisted'] as const

/** `cloud` signs in with a secret, `keyed` with a certificate: both with the same application. */
export const mounts = ['cloud', 'keyed'] as const
type ChaosMount = (typeof mounts)[number]
export const mountOf = (role: string): ChaosMount => (role === 'appointed' ? 'keyed' : 'cloud')

/** `minutely` is due each minute, `passing` is created and deleted again and again. */
export const staticRoles = ['minutely', 'hasty', 'passing'] as const
type StaticRoleName = (typeof staticRoles)[number]
/** What a write of each static role sends, besides its application. */
export const staticTerms: Readonly<Record<StaticRoleName, object>> = {
  minutely: { rotation_schedule: '* * * * *', rotation_grace_period: 3600 },
  hasty: { rotation_grace_period: -1 },
  passing: { rotation_grace_period: 3600 },
}

/** From the sources. */
const cloudServer = join(import.meta.dirname, '../test/support/cloud-server.ts')

/**
 * The faults of the stand-in: delays in seconds, replicas that disagree, and one request in thirty that fails
 * in some way or takes effect late.
 */
export const unrest = (seed: number): SettingsInput => ({
  replicas: 3,
  delaySeconds: {
    applicationToServicePrincipal: 0.2,
    servicePrincipalToPassword: 0.1,
    servicePrincipalToGroup: 0.2,
    servicePrincipalToAppRole: 0.2,
    certificateToToken: 0.2,
    secretToToken: 0.2,
    deletedToBin: 0.3,
    changeToRead: 0.1,
    changeToList: 0.3,
  },
  chaos: {
    seed,
    probability: 0.03,
    faults: [
      { kind: 'status', status: 500 },
      { kind: 'status', status: 503, retryAfterSeconds: 1 },
      { kind: 'throttled', retryAfterSeconds: 1 },
      { kind: 'dropped' },
      { kind: 'lost' },
      { kind: 'cut' },
      { kind: 'empty' },
      { kind: 'html' },
      { kind: 'slow', delayMs: 150 },
      { kind: 'late', delayMs: 800 },
      { kind: 'late', delayMs: 2000 },
    ],
  },
})

export const calm: SettingsInput = {
  replicas: 1,
  delaySeconds: {
    applicationToServicePrincipal: 0,
    servicePrincipalToPassword: 0,
    servicePrincipalToGroup: 0,
    servicePrincipalToAppRole: 0,
    certificateToToken: 0,
    secretToToken: 0,
    deletedToBin: 0,
    changeToRead: 0,
    changeToList: 0,
  },
  chaos: null,
}

export async function startChaosWorld(folder: string, entry = cloudServer): Promise<ChaosWorld> {
  await using stack = new AsyncDisposableStack()
  const directory = stack.use(await startDirectory())
  const environment = {
    CLOUD_AUTHORITY_HOST: directory.authorityUrl,
    CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
    CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
    CLOUD_CA_FILE: directory.caFile,
    // longer than the longest delay of a late request
    PATIENCE_MS: '2500',
    HASTY_ROTATION: 'yes',
  }
  const launch = () => startServerProcess({ folder, entry, environment })
  let server: ServerProcess = await launch()
  let up = Promise.resolve(server)
  stack.defer(() => server.stop('SIGKILL'))
  const { rootToken } = server
  const theirs = directory.admin.addApplication({ displayName: 'theirs' })
  const trusting = directory.admin.addApplication({ displayName: 'trusting' })
  const rotated = new Map(
    staticRoles.map((name) => [name, directory.admin.addApplication({ displayName: name })]),
  )
  await configure({ url: server.url, token: rootToken }, directory, theirs.id)
  for (const name of ['minutely', 'hasty'] as const)
    await sendSuccessfully(server.url, {
      method: 'POST',
      path: `cloud/static-roles/${name}`,
      token: rootToken,
      body: { application_object_id: rotated.get(name)?.id, ...staticTerms[name] },
    })
  const held = stack.move()
  return {
    directory,
    theirs,
    trusting,
    rotated,
    call: async (call) => {
      const { url } = await up
      return send(url, { ...call, token: rootToken }).catch((cause: unknown) => {
        throw new NoAnswer('no answer', { cause })
      })
    },
    kill: async () => {
      await up
      const killing = server.stop('SIGKILL').then(launch)
      up = killing
      server = await killing
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

const readerRole = 'acdd72a7-3385-48ef-bd42-f606fba81ae7'

/** The `cloud_roles` value that grants Reader on these resource groups. */
export function readerAt(directory: Directory, ...groups: readonly string[]): string {
  const subscription = `/subscriptions/${directory.subscriptionId}`
  const roleId = `${subscription}/providers/Microsoft.Authorization/roleDefinitions/${readerRole}`
  return JSON.stringify(
    groups.map((group) => ({ role_id: roleId, scope: `${subscription}/resourceGroups/${group}` })),
  )
}

/** The `cloud_app_roles` value of these permissions at the API of orders. */
export const ordersRoles = ({ orders: { appId } }: Directory, ...roles: readonly string[]): string =>
  JSON.stringify(roles.map((role_name) => ({ app_id: appId, role_name })))

async function configure(
  { url, token }: { url: string; token: string },
  directory: Directory,
  theirId: string,
): Promise<void> {
  const write = (path: string, body: object) => sendSuccessfully(url, { method: 'POST', path, token, body })
  const root = {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
  }
  await write('cloud/config', { ...root, client_secret: directory.rootClientSecret })
  await write('sys/mounts/keyed', { type: 'cloud' })
  await write('keyed/config', root)
  const { body } = await write('keyed/config/certificate', {})
  const { certificate } = (body?.data ?? {}) as { certificate?: string }
  directory.admin.addCertificate(directory.rootApplicationId, certificate ?? '')
  await write('keyed/config', { auth_type: 'certificate' })
  await write('keyed/roles/appointed', {
    cloud_app_roles: ordersRoles(directory, 'Orders.Read', 'Orders.Write'),
    ttl: '1h',
  })
  const cloud_roles = readerAt(directory, 'web', 'data')
  await write('cloud/roles/plain', { cloud_roles, ttl: '1h' })
  await write('cloud/roles/forgood', { cloud_roles, permanently_delete: true, ttl: '1h' })
  await write('cloud/roles/grouped', {
    cloud_roles: '[]',
    cloud_groups: '[{"group_name":"foo"},{"group_name":"bar"}]',
    ttl: '1h',
  })
  await write('cloud/roles/certified', { cloud_roles, credential_type: 'certificate', ttl: '1h' })
  await write('cloud/roles/static', { application_object_id: theirId, ttl: '1h' })
  await write('cloud/roles/persisted', { cloud_roles, persist_app: true, ttl: '1h' })
}
