import { rename, writeFile } from 'node:fs/promises'
import { systemRandom } from '../../src/lib/system/random.ts'
import { makeCertificate } from '../../src/plugins/cloud/certificates/make-certificate.ts'
import { StorageFaults } from '../../src/storage/faults.ts'
import { startCloudFixture } from '../plugins/cloud/cloud-fixture.ts'
import { startProvider } from '../plugins/jwt-auth/provider.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { enableAuditFile } from '../support/audit-file.ts'
import { Authority } from '../support/certificates.ts'
import { type CredentialProvider, startCredentialProvider } from '../support/credential-provider.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { reachedAt, startOneServer } from '../support/one-server.ts'
import { emptyDatabase } from '../support/postgres.ts'
import { practiceType } from '../support/practice-type.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

/** A server that has been used in every way that a metric counts, as far as one server can. */
export async function startUsedServer() {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const audit = opened.use(await temporaryFolder())
  const provider = opened.use(await startCredentialProvider())
  const clock = new FakeClock()
  const roles = new Map([['ci', { ttl: 60, maxTtl: 0, renewable: true }]])
  const faults = new StorageFaults()
  const server = opened.use(
    await startTestServer({
      clock,
      faults,
      plugins: [practiceType({ roles, providerUrl: provider.url })],
      settings: {
        METRICS: 'open',
        AUDIT_DIRS: audit.path,
        MAX_REQUEST_SIZE: '100KiB',
        STORAGE: `sqlite:${folder.file('gatehouse.db')}`,
        SEAL_KEY_FILE: folder.file('seal.key'),
      },
    }),
  )
  await enableAuditFile(server.root, audit.file('audit.log'))
  await use(server, faults)
  await useLeases(server, provider)
  // its chain is signed when the file is rotated
  await rename(audit.file('audit.log'), audit.file('audit.log.1'))
  await server.server.reload()
  const held = opened.move()
  return { server, clock, provider, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/** A server over PostgreSQL, with TLS. */
export async function startUsedReplica() {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const database = opened.use(await emptyDatabase())
  using authority = new Authority()
  const { cert, key } = authority.sign('gate')
  await writeFile(folder.file('cert.pem'), cert)
  await writeFile(folder.file('key.pem'), key)
  // it always speaks plain HTTP
  const socket = `unix:${folder.file('socket')}`
  const started = opened.use(
    await startOneServer({
      settings: {
        METRICS: 'open',
        STORAGE: database.url,
        SEAL_KEY: '5e'.repeat(32),
        LISTEN: `127.0.0.1:0,${socket}`,
        TLS_CERT_FILE: folder.file('cert.pem'),
        TLS_KEY_FILE: folder.file('key.pem'),
      },
    }),
  )
  const server = reachedAt(socket, started.server)
  const held = opened.move()
  return { server, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/**
 * A server with a cloud whose root secret it has rotated, so that it knows when it expires, and one whose root has a
 * certificate.
 */
export async function startUsedCloud() {
  const fixture = await startCloudFixture({ settings: { METRICS: 'open' } })
  const made = await makeCertificate({
    commonName: 'root',
    now: fixture.clock.now(),
    seconds: 86_400,
    random: systemRandom,
  })
  const client_certificate = made.private_key + made.certificate
  await fixture.root.write('azure/config', { client_secret: '', client_certificate })
  await fixture.root.write('cloud/rotate-root')
  // the server completes the rotation when it looks the next time
  fixture.clock.advance(60)
  return fixture
}

async function use({ root, anonymous, as }: TestServer, faults: StorageFaults): Promise<void> {
  const signer = aSigner('ES256', { kid: 'one' })
  await using issuer = await startProvider({ '/keys': { keys: [signer.jwk] } })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
  await root.write('auth/jwt/config', { jwks_url: `${issuer.url}/keys` })
  await root.write('auth/jwt/role/ci', role)
  const exp = Math.floor(Date.now() / 1000) + 60
  for (const aud of ['gate', 'gate', 'other']) {
    const jwt = signer.sign({ sub: 'build-7', aud, exp })
    await anonymous.write('auth/jwt/login', { role: 'ci', jwt })
  }
  faults.arm('storage.before-commit', 'full')
  await anonymous.write('auth/jwt/login', { role: 'ci', jwt: signer.sign({ sub: 'b', aud: 'gate', exp }) })
  await root.write('sys/auth/broken', { type: 'jwt' })
  const gone = await startProvider({ '/keys': { keys: [signer.jwk] } })
  await root.write('auth/broken/config', { jwks_url: `${gone.url}/keys` })
  await gone[Symbol.asyncDispose]()
  await root.write('auth/broken/role/ci', role)
  await anonymous.write('auth/broken/login', { role: 'ci', jwt: signer.sign({ sub: 'a', aud: 'gate', exp }) })
  const created = await root.write('auth/token/create', { policies: ['default'], num_uses: 1 })
  await as(String(created.body['auth']?.['client_token'])).read('auth/token/lookup-self')
  await root.write('auth/token/create', { policies: ['default'], type: 'batch' })
  await root.read('auth/token/lookup-self', { headers: { 'X-Vault-Wrap-TTL': '60' } })
  await root.write('sys/mounts/kv', { type: 'kv-v2' })
  await root.write('kv/data/a', { data: { x: 1 } })
  await root.write('cubbyhole/a', { text: 'x'.repeat(200_000) })
  await root.write('sys/quotas/rate-limit/probe', { path: 'cubbyhole', rate: 0.001 })
  await root.read('cubbyhole/a')
  await root.read('cubbyhole/a')
  await root.read('sys/storage/snapshot')
  await root.read('no/such/path')
}

/** Leaves one lease, and one whose revocation was given up. */
async function useLeases({ root }: TestServer, provider: CredentialProvider): Promise<void> {
  await root.write('sys/mounts/practice', { type: 'practice' })
  const lease = async () => String((await root.read('practice/creds/ci')).body['lease_id'])
  await root.write('sys/leases/revoke', { lease_id: await lease() })
  provider.mood = 'refusing'
  await root.write('sys/leases/revoke', { lease_id: await lease(), sync: false })
  await provider.deletions(2)
  provider.mood = 'up'
  await lease()
}
