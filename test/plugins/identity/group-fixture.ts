import { borrowServer } from '../../support/borrowed-server.ts'
import type { Client, Json } from '../../support/client.ts'
import type { TestServer, TestServerOptions } from '../../support/start-server.ts'
import { aSigner } from '../jwt-auth/signer.ts'

const signer = aSigner('ES256')

/** A server with JWT mounts whose logins name groups, with shortcuts for tests of groups. */
export type GroupFixture = AsyncDisposable & {
  readonly server: TestServer
  readonly root: Client
  /** Mounts `auth/<name>/` with a role `r`; returns its accessor. */
  mount(name: string): Promise<string>
  login(groups: readonly string[], options?: { sub?: string; mount?: string }): Promise<Login>
  make(kind: 'entity' | 'group' | 'group-alias', body: object): Promise<string>
  read(kind: 'entity' | 'group', id: string): Promise<Json>
}

export type Login = {
  readonly token: string
  readonly entity: string
  readonly auth: Json
  readonly client: Client
}

export async function openGroupFixture(options: TestServerOptions = {}): Promise<GroupFixture> {
  const server = await borrowServer(options)
  const { root } = server
  const login: GroupFixture['login'] = async (groups, { sub = 'alice', mount = 'jwt' } = {}) => {
    const jwt = signer.sign({
      sub,
      aud: 'gate',
      groups,
      iat: 1_000_000_000,
      nbf: 1_000_000_000,
      exp: 4_000_000_000,
    })
    const { body, text, status } = await server.anonymous.write(`auth/${mount}/login`, { role: 'r', jwt })
    if (status !== 200) throw new Error(`login: ${text}`)
    const token = String(body.auth?.client_token)
    return { token, entity: String(body.auth?.entity_id), auth: body.auth as Json, client: server.as(token) }
  }
  const mount = async (name: string): Promise<string> => {
    await root.write(`sys/auth/${name}`, { type: 'jwt' })
    await root.write(`auth/${name}/config`, { jwt_validation_pubkeys: [signer.pem] })
    await root.write(`auth/${name}/role/r`, {
      role_type: 'jwt',
      user_claim: 'sub',
      bound_audiences: 'gate',
      groups_claim: 'groups',
    })
    return String((await root.read('sys/auth')).body[`${name}/`]?.accessor)
  }
  return {
    server,
    root,
    mount,
    login,
    make: async (kind, body) => {
      const { status, text, body: answer } = await root.write(`identity/${kind}`, body)
      if (status !== 200) throw new Error(`${kind}: ${status} ${text}`)
      return String(answer.data?.id)
    },
    read: async (kind, id) => (await root.read(`identity/${kind}/id/${id}`)).body.data as Json,
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
