import { type Issuer, startIssuer } from '../../../../simulators/ci-issuer/issuer.ts'
import type { Answer, Client } from '../../../support/client.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../../support/start-server.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A mount with a configuration and the role `ci`, and the issuer it trusts. */
export type LoginFixture = AsyncDisposable & {
  readonly issuer: Issuer
  readonly server: TestServer
  readonly root: Client
  /** Creates a mount; returns its path below `auth/`. */
  mount(parts?: { config?: Fields | null; role?: Fields; roleName?: string; type?: string }): Promise<string>
  /** Claims of a valid token, with overrides; undefined removes one. */
  claims(over?: Fields): Fields
  sign(over?: Fields, options?: Parameters<Issuer['sign']>[1]): Promise<string>
  explain(mount: string, fields: Fields): Promise<Answer>
  login(mount: string, fields: Fields): Promise<Answer>
}

const goodRole = {
  role_type: 'jwt',
  user_claim: 'sub',
  bound_audiences: ['gatehouse'],
  bound_claims: { repository: 'acme/shop' },
  token_policies: ['deploy'],
  token_ttl: 900,
}

export async function openLoginFixture(options: TestServerOptions = {}): Promise<LoginFixture> {
  await using opened = new AsyncDisposableStack()
  const issuer = opened.use(await startIssuer({ algorithms: ['RS256', 'ES256'] }))
  const server = opened.use(await startTestServer(options))
  await server.root.write('sys/policies/acl/deploy', {
    policy: 'path "cubbyhole/*" { capabilities = ["read"] }',
  })
  const now = () => Math.floor(Date.now() / 1000)
  let mounts = 0
  const claims = (over: Fields = {}): Fields => ({
    iss: issuer.url,
    sub: 'repo:acme/shop',
    aud: 'gatehouse',
    iat: now(),
    exp: now() + 300,
    repository: 'acme/shop',
    ref: 'refs/heads/main',
    ...over,
  })
  const held = opened.move()
  return {
    issuer,
    server,
    root: server.root,
    claims,
    async mount({ config = {}, role = {}, roleName = 'ci', type = 'jwt' } = {}) {
      mounts += 1
      const path = `m${mounts}`
      await server.root.write(`sys/auth/${path}`, { type })
      // an issuer is asked for its keys at most ten times in a burst, however many mounts use it
      const keys =
        config !== null && 'oidc_discovery_url' in config
          ? {}
          : { jwt_validation_pubkeys: [issuer.publicKeyPem('RS256')] }
      const written = { ...keys, bound_issuer: issuer.url, ...config }
      const answers = [
        ...(config === null ? [] : [await server.root.write(`auth/${path}/config`, written)]),
        await server.root.write(`auth/${path}/role/${roleName}`, { ...goodRole, ...role }),
      ]
      for (const { status, text } of answers) if (status > 299) throw new Error(text)
      return path
    },
    sign: (over, signing) => issuer.sign(claims(over), signing),
    explain: (mount, fields) => server.root.write(`auth/${mount}/explain`, { role: 'ci', ...fields }),
    login: (mount, fields) => server.anonymous.write(`auth/${mount}/login`, { role: 'ci', ...fields }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/** A client that may read these paths of a mount. */
export async function readerOf({ root, server }: LoginFixture, mount: string, paths: readonly string[]) {
  const name = `${mount}-${paths.length}`
  const policy = paths.map((path) => `path "auth/${mount}/${path}" { capabilities = ["read"] }`).join('\n')
  await root.write(`sys/policies/acl/${name}`, { policy })
  const token = await root.write('auth/token/create', { policies: [name] })
  return server.as(String(token.body['auth']?.['client_token']))
}
