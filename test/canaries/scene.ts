import { randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { exportPKCS8, exportSPKI, generateKeyPair, SignJWT } from 'jose'
import { expect } from 'vitest'
import type { Directory } from '../../simulators/directory/directory.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { makeCertificate } from '../../src/plugins/cloud/certificates/make-certificate.ts'
import { calls, type DocumentedCall } from '../http/documented-calls.ts'
import { aSigner } from '../plugins/jwt-auth/signer.ts'
import type { Answer, Client, Json } from '../support/client.ts'
import { type Headers, inlineLogin, issuer, parameterOf } from '../support/jwt-desk.ts'
import type { ServerProcess } from '../support/process.ts'
import { type Place, placeOf } from './search.ts'

/** A secret with characters that most encodings change. */
const aSecret = (): string => `a+b/c d~"ö?${randomBytes(9).toString('hex')}>`

/** Members of responses that hold a secret, wherever they are. */
const secretMembers = new Set([
  ...['client_token', 'client_secret', 'token', 'wrapped_accessor', 'access_token', 'id_token', 'unlock_key'],
  ...['keys_base64', 'recovery_keys', 'recovery_keys_base64', 'encoded_token', 'otp', 'root_token'],
])

/**
 * In most responses `keys` are names, and `accessor` is that of a mount. Beside a `client_secret`, a `secret_id` is
 * the key id of that.
 */
const isSecretMember = (name: string, beside: readonly string[]): boolean =>
  secretMembers.has(name) ||
  (name === 'secret_id' && !beside.includes('client_secret')) ||
  (name === 'keys' && beside.includes('keys_base64')) ||
  (name === 'accessor' && (beside.includes('client_token') || beside.includes('creation_path')))

/** It ends the server's work, and a document whose examples look like secrets. */
const notPlayed = ['post /sys/seal', 'get /sys/internal/specs/openapi']

/** What a server did, and every secret that it was sent or gave out, by name. */
export class Scene {
  readonly secrets = new Map<string, string>()
  readonly #kept = new Map<string, string>()
  readonly #server: ServerProcess
  readonly #rootToken: string
  /** The bodies of all refusals. */
  errors = ''

  constructor(server: ServerProcess, rootToken: string) {
    this.#server = server
    this.#rootToken = rootToken
    this.secrets.set('root token', rootToken)
  }

  keep(name: string, value: string): void {
    this.#kept.set(name, value)
  }

  /** A new secret with this name. */
  secret(name: string, value = aSecret()): string {
    this.secrets.set(name, value)
    return value
  }

  get root(): Client {
    return this.#server.as(this.#rootToken)
  }

  /** Remembers the secrets in a response, or its text if it is a refusal. */
  note(what: string, answer: Answer): Answer {
    if (answer.status >= 400) this.errors += answer.text
    else this.#noteSecrets(what, answer.body)
    return answer
  }

  #noteSecrets(what: string, value: unknown, isSecret = false): void {
    if (typeof value === 'string') {
      if (isSecret && value !== '') this.secrets.set(what, value)
    } else if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) this.#noteSecrets(`${what} ${index}`, item, isSecret)
    } else if (typeof value === 'object' && value !== null) {
      const beside = Object.keys(value)
      for (const [name, item] of Object.entries(value))
        this.#noteSecrets(`${name} of ${what}`, item, isSecretMember(name, beside))
    }
  }

  /** Sends the calls of the API document's tests, which succeed. */
  async playDocumentedCalls(): Promise<void> {
    for (const call of calls) {
      if (notPlayed.includes(call.ask)) continue
      const answer = this.note(call.ask, await this.#send(call))
      for (const [name, at] of Object.entries(call.keep ?? {})) {
        const value = at.split('.').reduce<Json | undefined>((part, key) => part?.[key], answer.body)
        this.keep(name, String(value))
      }
    }
  }

  #filled<T>(value: T): T {
    return JSON.parse(
      JSON.stringify(value).replaceAll(/\$(\w+)/g, (all, name: string) =>
        JSON.stringify(this.#kept.get(name) ?? all).slice(1, -1),
      ),
    )
  }

  #send({
    ask,
    params = {},
    query = '',
    body,
    token,
    ns,
    raw,
    verb,
    headers,
  }: DocumentedCall): Promise<Answer> {
    const [method = '', at = ''] = ask.split(' ')
    const path = this.#filled(at.replaceAll(/\{(\w+)\}/g, (_, name: string) => params[name] ?? ''))
    const client =
      token === undefined
        ? this.root
        : token === ''
          ? this.#server.anonymous
          : this.#server.as(this.#filled(token))
    return client.call(
      verb ?? method.toUpperCase(),
      `${at.startsWith('/health') ? '' : '/v1'}${path}${this.#filled(query)}`,
      body === undefined ? undefined : this.#filled(body),
      {
        headers: {
          ...(ns === undefined ? {} : { 'X-Vault-Namespace': ns }),
          ...(method === 'patch' ? { 'Content-Type': 'application/merge-patch+json' } : {}),
          ...headers,
        },
        ...(raw === undefined ? {} : { raw }),
      },
    )
  }
}

/** What the documented calls assume, made with the cloud as the engine that issues leases. */
export async function prepare(scene: Scene, directory: Directory): Promise<void> {
  const { root } = scene
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  scene.secret('private key', await exportPKCS8(privateKey))
  scene.keep('publicKey', await exportSPKI(publicKey))
  const jwt = await new SignJWT({})
    .setProtectedHeader({ alg: 'ES256' })
    .setIssuedAt()
    .setSubject('build-7')
    .setAudience('here')
    .setExpirationTime('1h')
    .sign(privateKey)
  scene.keep('jwt', scene.secret('JWT', jwt))
  scene.secret('payload of the JWT', jwt.split('.')[1])
  scene.secret('signature of the JWT', jwt.split('.')[2])
  scene.keep('subscription', directory.subscriptionId)
  scene.keep('tenant', directory.tenantId)
  scene.keep('rootClient', directory.rootClientId)
  scene.keep('rootSecret', scene.secret('root secret of the cloud', directory.rootClientSecret))
  await root.write('sys/auth/approle', { type: 'approle' })
  await root.write('sys/mounts/practice', { type: 'cloud' })
  await root.write('practice/config', {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  })
  await root.write('practice/roles/ci', { cloud_groups: '[{"group_name":"foo"}]', ttl: '1h' })
  for (let at = 0; at < 6; at++) {
    const issued = scene.note('practice/creds/ci', await root.read('practice/creds/ci'))
    scene.keep(`lease${at}`, String(issued.body.lease_id))
  }
}

/** Signs in to the cloud in each way that needs no secret, accepted and refused. */
export async function signInEachWay(scene: Scene, directory: Directory): Promise<void> {
  const { root } = scene
  const wanted = { commonName: 'root', now: Date.now(), seconds: 86_400, random: systemRandom }
  const made = await makeCertificate(wanted)
  scene.secret('key of a certificate', made.private_key.split('\n')[5])
  const password = scene.secret('password of a certificate')
  const ids = { subscription_id: directory.subscriptionId, tenant_id: directory.tenantId }
  const pem = {
    client_certificate: made.private_key + made.certificate,
    client_certificate_password: password,
  }
  await root.write('sys/mounts/way', { type: 'cloud' })
  const check = async (fields: object) => {
    const all = { ...ids, client_id: directory.rootClientId, ...fields }
    scene.note('way/config', await root.write('way/config', all))
    scene.note('way/config/check', await root.read('way/config/check'))
    scene.note('way/rotate-root', await root.write('way/rotate-root', {}))
    scene.note('way/roles/a', await root.write('way/roles/a', { cloud_groups: '[{"group_name":"foo"}]' }))
  }
  await check(pem)
  await check({ ...pem, client_certificate: made.private_key.replace('M', 'N') })
  directory.admin.addCertificate(directory.rootApplicationId, made.certificate)
  await check(pem)
  scene.note('way/config/certificate', await root.write('way/config/certificate', {}))
  await check({ client_certificate: '', auth_type: 'aks_wif' })
  await check({ auth_type: 'msi', client_id: '' })
  await check({ auth_type: 'msi', client_id: 'nobody' })
  await check({
    auth_type: 'msi_wif',
    managed_identity_client_id: directory.userAssignedIdentities[0].clientId,
  })
  await check({ auth_type: '', identity_token_audience: 'api://AzureADTokenExchange' })
}

/** Sends secrets where they belong, and where they do not. */
export async function sendSecrets(scene: Scene): Promise<void> {
  const { root } = scene
  const send = async (path: string, body: object, headers: Record<string, string> = {}) =>
    scene.note(path, await root.write(path, body, { headers }))
  const pem = scene.secrets.get('private key')
  await send('cubbyhole/mine', { password: scene.secret('cubbyhole data'), pem })
  await send('cubbyhole/mine/deep', { list: [{ deep: scene.secret('deep cubbyhole data') }] })
  await send(
    'sys/wrapping/wrap',
    { password: scene.secret('wrapped data'), pem },
    { 'X-Vault-Wrap-TTL': '60' },
  )
  await sendToSecrets(scene)
  await send('auth/oidc/config', {
    oidc_discovery_url: 'http://127.0.0.1:1',
    oidc_client_id: 'gatehouse',
    oidc_client_secret: scene.secret('OIDC client secret'),
  })
  await send('auth/jwt/config', { jwt_validation_pubkeys: [pem] })
  await send('auth/jwt/config', {
    jwks_url: `http://user:${scene.secret('password of a URL', 'pw-5Jq8Tz0vXr')}@127.0.0.1:1/`,
  })
  await send('auth/jwt/login', { role: 'ci', jwt: pem })
  await send('auth/jwt/role/ci', { role_type: 'jwt', user_claim: 'sub', jwt: pem })
  await send('auth/token/create', { id: scene.secret('own id of a token', 'own-id-7Hs2Lq9wPz') })
  await send('auth/token/lookup', { token: scene.secret('token of nobody') })
  await send('sys/policies/acl/broken', {
    policy: `path "${scene.secret('policy text', 'policy-4Gd7Kx1mWn')}" {`,
  })
  await send('sys/tools/hash', { input: Buffer.from(scene.secret('hashed input')).toString('base64') })
  const text = Buffer.from(scene.secret('message text')).toString('base64')
  await send('sys/config/ui/custom-messages', {
    title: 't',
    message: text,
    start_time: '2026-01-01T00:00:00Z',
  })
  await send('sys/config/ui/custom-messages', { title: 't', message: text, start_time: 'never' })
}

/** Logins that requests carry, in their headers and as their tokens, accepted and refused. */
export async function carryLogins(scene: Scene, anonymous: Client): Promise<void> {
  const { root } = scene
  const signer = aSigner('ES256')
  const jwtOf = (name: string, claims: object) => {
    const iat = Math.floor(Date.now() / 1000)
    const jwt = signer.sign({ iss: issuer, sub: 'carried', aud: 'gate', iat, exp: iat + 600, ...claims })
    for (const [at, part] of jwt.split('.').slice(1).entries()) scene.secret(`part ${at} of ${name}`, part)
    return scene.secret(name, jwt)
  }
  await root.write('sys/auth/carried', { type: 'jwt' })
  const config = { bound_issuer: issuer, accept_as_token: true, default_role: 'ci' }
  await root.write('auth/carried/config', { ...config, jwt_validation_pubkeys: [signer.pem] })
  const role = { role_type: 'jwt', user_claim: 'sub', bound_audiences: 'gate' }
  await root.write('auth/carried/role/ci', role)
  for (const header of ['X-Vault-Token', 'Authorization', 'X-Vault-Inline-Auth-Parameter-jwt'])
    await root.write(`sys/config/auditing/request-headers/${header}`, { hmac: false })
  const ask = async (headers: Headers) =>
    scene.note('a carried login', await anonymous.read('auth/token/lookup-self', { headers }))
  const answers: Answer[] = []
  for (const [what, claims] of [
    ['good', {}],
    ['bad', { aud: 'x' }],
    ['foreign', { iss: 'https://foreign' }],
  ] as const) {
    const jwt = jwtOf(`${what} carried JWT`, claims)
    answers.push(await ask(inlineLogin('auth/carried/login', { jwt })))
    answers.push(await ask({ 'X-Vault-Token': jwt }))
    answers.push(await ask({ Authorization: `Bearer ${jwt}` }))
  }
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 400, 403, 403, 400, 403, 403])
  const password = scene.secret('password of a carried login')
  await ask(inlineLogin('auth/userpass/login/nobody', { password }))
  const broken = parameterOf(scene.secret('broken parameter'))
  await ask({ ...inlineLogin('auth/carried/login', {}), 'X-Vault-Inline-Auth-Parameter-jwt': broken })
  scene.note('failures', await root.read('auth/carried/failures'))
}

/** Values of secrets, of both versions, in calls that succeed and in such that are refused. */
async function sendToSecrets(scene: Scene): Promise<void> {
  const { root } = scene
  const patched = { 'Content-Type': 'application/merge-patch+json' }
  const call = async (verb: string, path: string, body?: object, headers: Record<string, string> = {}) =>
    scene.note(`${verb} ${path}`, await root.call(verb, path, body, { headers }))
  const value = (name: string) => scene.secret(`${name} of a secret`)
  await call('POST', 'kv/mine', { password: value('entry'), ttl: value('duration') })
  await call('POST', 'kv/mine/', { password: value('refused entry') })
  const data = { password: value('data'), deep: [{ deep: value('deep data') }] }
  await call('POST', 'secret/data/mine', { data })
  await call('PATCH', 'secret/data/mine', { data: { more: value('patch') } }, patched)
  await call('PATCH', 'secret/data/mine', { data: { more: value('patch without its type') } })
  await call('POST', 'secret/data/mine', { data, options: { cas: 0, note: value('option') } })
  await call('POST', 'secret/data/mine', { data, options: { cas: value('cas') } })
  await call('POST', 'secret/data/mine', { data: value('text instead of data') })
  await call('POST', 'secret/data/mine', { data: [value('list instead of data')] })
  await call('POST', 'secret/data/mine//x', { data: { x: value('wrong path') } })
  await call('POST', 'secret/mine', { data: { x: value('path of version 1') } })
  await call('POST', 'secret/metadata/mine', { custom_metadata: { owner: value('custom metadata') } })
  await call('POST', 'secret/metadata/mine', { custom_metadata: { o: `${value('long')}\n`.repeat(20) } })
  await call('POST', 'secret/data/made', { options: { generate: { password: { charset: 'ascii' } } } })
  const made = await call('GET', 'secret/data/made')
  scene.secret('generated value', String(made.body.data?.['data']?.['password']))
  for (const path of ['copy/other', 'move/another']) await call('POST', `secret/${path}`, { from: 'mine' })
  await call('GET', 'secret/subkeys/other')
  await call('GET', 'secret/data/another?version=1')
  await call('GET', 'secret/data/another', undefined, { 'X-Vault-Wrap-TTL': '60' })
  await call('DELETE', 'secret/data/made')
  await call('GET', 'secret/data/made')
}

/** The files of a server, except those that are meant to hold a secret. */
export async function filesOf(folder: string, prefix = ''): Promise<Place[]> {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  )
  const isMeant = (name: string) => ['seal.key', 'root-token'].includes(name)
  return Promise.all(
    names
      .filter(({ name }) => !isMeant(name))
      .map(async ({ name, parentPath }) => placeOf(prefix + name, await readFile(`${parentPath}/${name}`))),
  )
}
