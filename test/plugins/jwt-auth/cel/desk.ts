import { borrowServer } from '../../../support/borrowed-server.ts'
import type { Answer, Client, Json } from '../../../support/client.ts'
import type { TestServer, TestServerOptions } from '../../../support/start-server.ts'
import { aSigner, type Signer } from '../signer.ts'

type Fields = Readonly<Record<string, unknown>>

/** A program as a role has it: the expression, and the variables by name. */
export type Written = { readonly expression: unknown; readonly variables?: Readonly<Record<string, string>> }

/** A mount `auth/jwt` with one key, and CEL roles that tests write. */
export type Desk = AsyncDisposable & {
  readonly server: TestServer
  readonly root: Client
  readonly signer: Signer
  /** Undefined removes a claim. */
  jwt(claims?: Fields): string
  write(name: string, program: Written | undefined, fields?: Fields): Promise<Answer>
  login(name: string, claims?: Fields): Promise<Answer>
  /** Writes role `r` and logs in with it. */
  judge(program: Written | string, claims?: Fields, fields?: Fields): Promise<Answer>
  /** What lookup-self says of the token of a login. */
  lookup(login: Answer): Promise<Json>
}

export const aProgram = ({ expression, variables = {} }: Written) => ({
  expression,
  ...(Object.keys(variables).length === 0
    ? {}
    : { variables: Object.entries(variables).map(([name, each]) => ({ name, expression: each })) }),
})

export const now = (more = 0): number => Math.floor(Date.now() / 1000) + more

export const someClaims = (more: Fields = {}): Fields => ({
  iss: 'https://ci.example.com',
  sub: 'joe',
  aud: 'gate',
  iat: now(),
  nbf: now(-5),
  exp: now(600),
  ...more,
})

export async function openDesk(options: TestServerOptions & { config?: Fields } = {}): Promise<Desk> {
  const { config = {}, ...serverOptions } = options
  const server = await borrowServer(serverOptions)
  const { root } = server
  const signer = aSigner('ES256')
  await root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem], ...config })
  const desk: Desk = {
    server,
    root,
    signer,
    jwt: (claims) => signer.sign(someClaims(claims)),
    write: (name, program, fields = {}) =>
      root.write(`auth/jwt/cel/role/${name}`, {
        ...(program === undefined ? {} : { cel_program: aProgram(program) }),
        ...fields,
      }),
    login: (name, claims) =>
      server.anonymous.write('auth/jwt/cel/login', { role: name, jwt: desk.jwt(claims) }),
    judge: async (program, claims, fields) => {
      const written = await desk.write(
        'r',
        typeof program === 'string' ? { expression: program } : program,
        fields,
      )
      return written.status === 200 ? desk.login('r', claims) : written
    },
    lookup: async (login) => {
      const looked = await server.as(String(login.body.auth?.client_token)).read('auth/token/lookup-self')
      return looked.body.data as Json
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
  return desk
}

/** The status and the only error of an answer; `ok` for a login. */
export function verdict({ status, body }: Answer): string {
  return status === 200 && body.auth ? 'ok' : `${status} ${String(body.errors?.[0])}`
}
