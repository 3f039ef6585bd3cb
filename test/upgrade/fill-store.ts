import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { pino } from 'pino'
import metadata from '../../package.json' with { type: 'json' }
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { readConfig } from '../../src/config/config.ts'
import { startServer } from '../../src/server/server.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import { Client } from '../support/client.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import type { ReleasedFacts } from './old-store.ts'

/**
 * `npm run release:store` fills a store through the API of this version, and puts it, with what is needed to use it, beside
 * those of earlier releases, which later ones must open. CONTRIBUTING.md#versions
 */
const now = Date.parse(`${metadata.date}T12:00:00Z`)
const clock = new FakeClock(now)
const sealKey = randomBytes(32).toString('hex')
const signer = aSigner('ES256')
await using folder = await temporaryFolder()
await using directory = await startDirectory({ now: () => clock.now() })
const database = folder.file('gatehouse.db')
const settings = {
  GATEHOUSE_LISTEN: '127.0.0.1:0',
  GATEHOUSE_STORAGE: `sqlite:${database}`,
  GATEHOUSE_SEAL_KEY: sealKey,
  CLOUD_AUTHORITY_HOST: directory.authorityUrl,
  CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
  CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
  CLOUD_CA_FILE: directory.caFile,
}
let rootToken = ''
const keep = (token: string) => {
  rootToken = token
}
const server = await startServer(readConfig(settings, { dev: false, warn: () => {} }), {
  log: pino({ level: 'silent' }),
  clock,
  rootToken: { keep, tell: () => {} },
})
const as = (token: string) => new Client(server.url, token)
const root = as(rootToken)

/** The server's answer, or an error. */
async function answer(sent: ReturnType<Client['write']>) {
  const { status, body, text } = await sent
  if (status >= 300) throw new Error(`${status} ${text}`)
  return body
}
const write = (path: string, body?: object, client = root) => answer(client.write(path, body))
const tokenOf = async (body: object, client = root, path = 'auth/token/create') =>
  String((await write(path, { ttl: '600h', ...body }, client)).auth?.['client_token'])

await write('sys/policies/acl/team', {
  policy:
    'path "cubbyhole/*" { capabilities = ["create", "read", "update"] } path "auth/token/*" { capabilities = ["update"] }',
})
await write('sys/auth/ci-two', { type: 'jwt', description: 'second', config: { default_lease_ttl: '2h' } })
await write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
await write('auth/jwt/role/ci', {
  role_type: 'jwt',
  user_claim: 'sub',
  bound_audiences: 'gatehouse',
  bound_claims: { ref: 'main' },
  token_policies: 'team',
  token_ttl: '700h',
  token_max_ttl: '720h',
})
const seconds = now / 1000
const claims = { iss: 'ci', sub: 'build-7', aud: 'gatehouse', ref: 'main', iat: seconds, exp: seconds + 3600 }
const login = (
  await write('auth/jwt/login', { role: 'ci', jwt: signer.sign(claims) }, new Client(server.url))
).auth
const entity = String(login?.['entity_id'])
await write(`identity/entity/id/${entity}`, { name: 'builder', metadata: { team: 'a' } })
const group = await write('identity/group', {
  name: 'Builders',
  member_entity_ids: [entity],
  policies: ['default', 'team'],
})

const parent = await tokenOf({ policies: ['team'] })
await write('cubbyhole/note', { text: 'mine' }, as(parent))
const maker = await tokenOf({ policies: ['team'] })
const child = await tokenOf({ policies: ['team'] }, as(maker))
const counted = await tokenOf({ policies: ['team'], num_uses: 5 })
const periodic = await tokenOf({ policies: ['team'], period: '24h' })
const revoked = await tokenOf({})
await write('auth/token/revoke', { token: revoked })
await write('auth/token/roles/deploy', { renewable: true })
const batch = await tokenOf({ type: 'batch', policies: ['team'] })

await write('sys/config/ui/custom-messages', {
  title: 'Maintenance',
  message: Buffer.from('at noon').toString('base64'),
  start_time: new Date(now - 1000).toISOString(),
})
await write('sys/namespaces/team')
const inner = await tokenOf({}, root, 'team/auth/token/create')
await write('identity/oidc/key/signing', { allowed_client_ids: ['*'] })
await write('sys/config/cors', { enabled: true, allowed_origins: ['https://app.example.com'] })
await write('sys/rotate')
const wrapped = await answer(
  root.write('sys/wrapping/wrap', { secret: 'wrapped' }, { headers: { 'X-Vault-Wrap-TTL': '600h' } }),
)

await write('cloud/config', {
  subscription_id: directory.subscriptionId,
  tenant_id: directory.tenantId,
  client_id: directory.rootClientId,
  client_secret: directory.rootClientSecret,
})
const scope = `/subscriptions/${directory.subscriptionId}/resourceGroups/web`
await write('cloud/roles/deploy', {
  cloud_roles: JSON.stringify([{ role_name: 'Reader', scope }]),
  ttl: '600h',
  max_ttl: '700h',
})
const credential = await answer(root.read('cloud/creds/deploy'))

await write('sys/mounts/secret', { type: 'kv', options: { version: '2' } })
for (const word of ['first', 'second']) await write('secret/data/app', { data: { word } })
await write('sys/auth/userpass', { type: 'userpass' })
await write('auth/userpass/users/ann', { password: 'a long password', token_policies: 'team' })
await write('sys/auth/approle', { type: 'approle' })
await write('auth/approle/role/web', { token_policies: 'team' })
const roleId = await answer(root.read('auth/approle/role/web/role-id'))
const secretId = await write('auth/approle/role/web/secret-id')
const health = await answer(root.read('sys/health'))
await server[Symbol.asyncDispose]()

const facts: ReleasedFacts = {
  ...{ now, root: rootToken, login: String(login?.['client_token']), entity, parent, maker, child, counted },
  ...{ periodic, revoked, group: String(group.data?.['id']), inner, batch },
  wrapping: String(wrapped['wrap_info']?.['token']),
  lease: String(credential['lease_id']),
  cluster: String(health['cluster_id']),
  subscription: directory.subscriptionId,
  roleId: String(roleId.data?.['role_id']),
  secretId: String(secretId.data?.['secret_id']),
  signingKey: signer.privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
  sealKey,
}
const place = join(import.meta.dirname, 'stores', metadata.version)
await writeFile(`${place}.db.gz`, gzipSync(await readFile(database), { level: 9 }))
await writeFile(`${place}.json`, `${JSON.stringify(facts, undefined, 2)}\n`)
