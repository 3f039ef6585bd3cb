import type { Directory, DirectoryOptions } from '../../../simulators/directory/directory.ts'
import { startDirectory } from '../../../simulators/directory/start-directory.ts'
import type { Client } from '../../support/client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/start-server.ts'
import { PausingClock } from './upstream/aimed.ts'

export type CloudFixture = AsyncDisposable & {
  readonly directory: Directory
  readonly server: TestServer
  readonly root: Client
  readonly clock: PausingClock
  /** A valid configuration with changes. */
  config(changes?: Record<string, unknown>): Record<string, unknown>
  /** A scope of the subscription. */
  scope(resourceGroup?: string): string
  /** The id of a role definition with this GUID. */
  definition(guid: string): string
}

export type CloudHouseOptions = TestServerOptions & {
  directory?: Omit<DirectoryOptions, 'now'>
  configured?: boolean
  /** Settings of the process that depend on the stand-in. */
  host?: (directory: Directory) => Record<string, string>
}

/** The GUIDs of role definitions in the stand-in. */
export const guids = {
  owner: '8e3af657-a8ff-443c-a75c-2fe8c4bcb635',
  contributor: 'b24988ac-6180-42a0-ab88-20f7382dd24c',
  reader: 'acdd72a7-3385-48ef-bd42-f606fba81ae7',
}

/**
 * A server with mounts `cloud/` and `azure/`, by default configured for a stand-in that shares the server's
 * clock.
 */
export async function startCloudFixture({
  directory: options = {},
  configured = true,
  host = () => ({}),
  ...parts
}: CloudHouseOptions = {}): Promise<CloudFixture> {
  await using stack = new AsyncDisposableStack()
  const clock = new PausingClock(Date.UTC(2026, 4, 5, 6, 7, 8))
  const directory = stack.use(await startDirectory({ ...options, now: () => clock.now() }))
  const server = stack.use(
    await startTestServer({
      clock,
      ...parts,
      cloudTimes: { pause: clock.pause, patience: { retry: 10 }, ...parts.cloudTimes },
      settings: { DEFAULT_MOUNTS: 'auth/jwt=jwt,cloud=cloud,azure=azure', ...parts.settings },
      environment: {
        CLOUD_AUTHORITY_HOST: directory.authorityUrl,
        CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
        CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
        CLOUD_CA_FILE: directory.caFile,
        CLOUD_METADATA_ENDPOINT: 'http://127.0.0.1:9',
        ...host(directory),
        ...parts.environment,
      },
    }),
  )
  const config: CloudFixture['config'] = (changes = {}) => ({
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
    ...changes,
  })
  if (configured) for (const mount of ['cloud', 'azure']) await server.root.write(`${mount}/config`, config())
  const held = stack.move()
  const subscription = `/subscriptions/${directory.subscriptionId}`
  return {
    directory,
    server,
    root: server.root,
    clock,
    config,
    scope: (resourceGroup = 'web') => `${subscription}/resourceGroups/${resourceGroup}`,
    definition: (guid) => `${subscription}/providers/Microsoft.Authorization/roleDefinitions/${guid}`,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
