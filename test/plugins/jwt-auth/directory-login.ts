import {
  type IdentityProviders,
  startIdentityProviders,
} from '../../../simulators/identity-providers/identity-providers.ts'
import { borrowServer, untilEndOfFile } from '../../support/borrowed-server.ts'
import type { Answer } from '../../support/client.ts'
import type { TestServer, TestServerOptions } from '../../support/start-server.ts'
import { TcpProxy } from '../../support/tcp-proxy.ts'
import { operatorVerdict } from './operator-verdict.ts'
import { aSigner } from './signer.ts'

const signer = aSigner('ES256')

let portOfTest = 0
let proxy: TcpProxy | undefined

/** An address that leads to the providers of each test of the file, so that they share a server. */
async function lastingProxy(): Promise<string> {
  if (proxy !== undefined) return proxy.url
  const started = await TcpProxy.start({ target: () => portOfTest })
  proxy = started
  untilEndOfFile({
    [Symbol.asyncDispose]: () => {
      proxy = undefined
      return started[Symbol.asyncDispose]()
    },
  })
  return started.url
}

/**
 * A server whose mount `auth/jwt` has a key, a provider with a directory, and the role `r`, whose
 * `groups_claim` is `groups`.
 */
export type DirectoryLogin = AsyncDisposable & {
  readonly providers: IdentityProviders
  readonly server: TestServer
  configure(provider_config: object, more?: object): Promise<Answer>
  /** A token of these claims, as `logIn` makes one. */
  sign(claims?: object): string
  /** Logs in with these claims; `sub` is `user1` by default. A refusal is shown as the operator sees it. */
  logIn(claims?: object, more?: object): Promise<string>
  /** Which of these names count as groups of the last login; their external groups must exist before. */
  groups(): Promise<string[]>
}

export async function startDirectoryLogin({
  role = {},
  now,
  ...options
}: TestServerOptions & { role?: object; now?: () => number } = {}): Promise<DirectoryLogin> {
  const providers = await startIdentityProviders({ ...(now === undefined ? {} : { now }) })
  portOfTest = Number(new URL(providers.hosts.proxyUrl).port)
  const server = await borrowServer({
    ...options,
    environment: { HTTPS_PROXY: await lastingProxy(), NO_PROXY: '127.0.0.1' },
  })
  const configure = (provider_config: object, more: object = {}) =>
    server.root.write('auth/jwt/config', {
      jwt_validation_pubkeys: [signer.pem],
      oidc_discovery_ca_pem: providers.hosts.caPem,
      provider_config,
      ...more,
    })
  await server.root.write('auth/jwt/role/r', {
    role_type: 'jwt',
    user_claim: 'sub',
    bound_audiences: 'gate',
    groups_claim: 'groups',
    ...role,
  })
  let entity = ''
  const sign = (claims: object = {}) => {
    const iat = Math.floor((now ?? Date.now)() / 1000)
    return signer.sign({ sub: 'user1', aud: 'gate', iat, exp: iat + 600, ...claims })
  }
  return {
    providers,
    server,
    configure,
    sign,
    logIn: async (claims = {}, more = {}) => {
      const answer = await server.anonymous.write('auth/jwt/login', { role: 'r', jwt: sign(claims), ...more })
      entity = String(answer.body.auth?.['entity_id'] ?? '')
      return operatorVerdict(server.root, 'auth/jwt', answer)
    },
    groups: async () => {
      const { body } = await server.root.read(`identity/entity/id/${entity}`)
      const ids = body.data?.['group_ids']
      const names: string[] = []
      for (const id of Array.isArray(ids) ? ids : [])
        names.push(String((await server.root.read(`identity/group/id/${id}`)).body.data?.['name']))
      return names.sort()
    },
    [Symbol.asyncDispose]: async () => {
      await server[Symbol.asyncDispose]()
      await providers[Symbol.asyncDispose]()
    },
  }
}

/** External groups of the mount `auth/jwt`, each with an alias of its name. */
export async function writeGroups({ root }: TestServer, ...names: string[]): Promise<void> {
  const mounts = await root.read('sys/auth')
  const mount = mounts.body.data?.['jwt/']
  const mount_accessor =
    typeof mount === 'object' && mount !== null && 'accessor' in mount ? mount.accessor : undefined
  for (const name of names) {
    const made = await root.write('identity/group', { name, type: 'external' })
    await root.write('identity/group-alias', { name, mount_accessor, canonical_id: made.body.data?.['id'] })
  }
}
