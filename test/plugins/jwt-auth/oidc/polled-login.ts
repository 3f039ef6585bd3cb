import type { Answer, Client } from '../../../support/client.ts'
import { serversInTurn } from '../../../support/of-one-server.ts'
import { shared } from '../../../support/shared.ts'
import type { TestServer, TestServerOptions } from '../../../support/start-server.ts'
import {
  callback,
  clientId,
  formsOf,
  postForm,
  type SmallProvider,
  startSmallProvider,
  verdict,
  withFlow,
  writeRole,
} from './small-provider.ts'

/** The server's own callback. */
export const page = 'https://gate.example/v1/auth/oidc/oidc/callback'
export const lost = '400 Vault login failed. Expired or missing OAuth state.'
export const pending = '400 authorization_pending'
export const directRole = { callback_mode: 'direct', allowed_redirect_uris: [page] }
export const deviceRole = { callback_mode: 'device', allowed_redirect_uris: [] }

export type Begun = {
  readonly login: URLSearchParams
  readonly state: string
  readonly data: Record<string, unknown>
}

/** `auth_url`, as a client sends it that polls. */
export async function begin(client: Client, given: object = {}): Promise<Begun> {
  const sent = { redirect_uri: page, client_nonce: 'cn', ...given }
  const data = (await client.write('auth/oidc/oidc/auth_url', sent)).body.data ?? {}
  const login = new URLSearchParams(String(data['auth_url']).split('?')[1])
  return { login, state: String(data['state']), data }
}

export const poll = (client: Client, state: string, nonce = 'cn'): Promise<Answer> =>
  client.write('auth/oidc/oidc/poll', { state, client_nonce: nonce })
export const polled = async (client: Client, state: string, nonce?: string): Promise<string> =>
  verdict(await poll(client, state, nonce))

type Options = TestServerOptions & { config?: object }
export const withDirect = (
  provider: SmallProvider,
  given: object = {},
  options: Options = {},
): Promise<TestServer> => withFlow(provider, { ...options, role: { ...directRole, ...given } })
export const withDevice = (
  provider: SmallProvider,
  given: object = {},
  options: Options = {},
): Promise<TestServer> => withFlow(provider, { ...options, role: { ...deviceRole, ...given } })

/** Provider and server for the rows of a table, which write their own role. */
export function sharedFlow(): (given: object) => Promise<{ provider: SmallProvider; server: TestServer }> {
  const flow = shared(async () => {
    const stack = new AsyncDisposableStack()
    const provider = stack.use(await startSmallProvider())
    const server = stack.use(await withDevice(provider))
    return { provider, server, [Symbol.asyncDispose]: () => stack.disposeAsync() }
  })
  return async (given) => {
    const { provider, server } = await flow()
    Object.assign(provider, { device: undefined, deviceError: 'authorization_pending', deviceClaims: {} })
    for (let asked = 0; asked < serversInTurn; asked++) await server.root.delete('auth/oidc/failures')
    await server.root.delete('auth/oidc/role/test')
    await writeRole(server, given)
    return { provider, server }
  }
}

/** The buttons of a page that asks. */
export function buttonsOf(answer: Answer): {
  confirm: Record<string, string>
  refuse: Record<string, string>
} {
  const [confirm, refuse] = formsOf(answer)
  if (confirm === undefined || refuse === undefined)
    throw new Error(`${answer.status} a page without two forms: ${answer.text}`)
  return { confirm, refuse }
}

/** The person comes back with a code, and confirms. */
export async function confirmed(client: Client, state: string, code: string): Promise<Answer> {
  return postForm(client, buttonsOf(await callback(client, { state, code })).confirm)
}

/** Status and title of a page. */
export const title = ({ status, text }: Answer): string => `${status} ${/<h1>(.*?)<\/h1>/.exec(text)?.[1]}`

/** Each server keeps its own. */
export async function failuresOf(server: TestServer): Promise<Record<string, unknown>[]> {
  const failures: Record<string, unknown>[][] = []
  for (let asked = 0; asked < serversInTurn; asked++) {
    const { body } = await server.root.read('auth/oidc/failures')
    failures.push(body.data?.['failures'] as unknown as Record<string, unknown>[])
  }
  return failures.flat()
}

/** Claims whose times follow another clock. */
export const aheadBy =
  (provider: SmallProvider, now: () => number): SmallProvider['claims'] =>
  (login, given = {}) => ({
    iss: provider.url,
    aud: clientId,
    sub: 'bob',
    iat: now() / 1000 - 5,
    exp: now() / 1000 + 300,
    ...(login.get('nonce') === null ? {} : { nonce: login.get('nonce') }),
    ...Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)),
  })
