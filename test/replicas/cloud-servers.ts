import { type CloudFixture, startCloudFixture } from '../plugins/cloud/cloud-fixture.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

export type CloudServers = AsyncDisposable & { readonly fixture: CloudFixture; readonly other: TestServer }

/** Two servers with one stand-in for the cloud, which refuses concurrent changes of passwords. */
export async function startCloudServers(): Promise<CloudServers> {
  await using started = new AsyncDisposableStack()
  const { url: STORAGE } = started.use(await emptyDatabase())
  const times = { staticTimes: { lookMs: 50 }, rotationTimes: { lookMs: 50 }, poolTimes: { lookMs: 50 } }
  const common = { STORAGE, SEAL_KEY: '5e'.repeat(32), POSTGRES_POOL: '4' }
  const fixture = started.use(
    await startCloudFixture({
      directory: { settings: { strictConcurrency: true } },
      settings: { ...common, REPLICA_NAME: 'one' },
      cloudTimes: times,
    }),
  )
  const { directory, clock } = fixture
  const other = started.use(
    await startTestServer({
      clock,
      cloudTimes: { pause: clock.pause, ...times },
      settings: { ...common, REPLICA_NAME: 'other' },
      environment: {
        CLOUD_AUTHORITY_HOST: directory.authorityUrl,
        CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
        CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
        CLOUD_CA_FILE: directory.caFile,
      },
    }),
  )
  const held = started.move()
  return { fixture, other, [Symbol.asyncDispose]: () => held.disposeAsync() }
}
