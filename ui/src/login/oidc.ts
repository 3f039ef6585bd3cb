import * as v from 'valibot'
import { authUrl, oidcCallback } from '../api/auth.ts'
import { encodedPath } from '../api/request.ts'
import { uiBase } from '../base.ts'
import { namespace } from '../session/namespace.ts'
import { strings } from '../strings.ts'

/** What this tab remembers of a login while it is at the provider. */
const key = 'gatehouse.login'
const pendingLogin = v.object({
  mount: v.string(),
  role: v.string(),
  namespace: v.string(),
  nonce: v.string(),
  destination: v.string(),
  state: v.string(),
})

/** The address that roles and providers set up for Vault's UI already allow. */
const redirectUri = (mount: string): string => {
  const url = new URL(`vault/auth/${encodedPath(mount)}/oidc/callback`, uiBase)
  if (namespace() !== '') url.searchParams.set('namespace', namespace())
  return url.href
}

const randomText = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(20)), (byte) => byte.toString(16).padStart(2, '0')).join(
    '',
  )

/** Why a login cannot begin, for people. */
class LoginProblem extends Error {
  override readonly name = 'LoginProblem'
}

/** Leaves for the provider, in this tab. Throws if the server does not begin the login. */
export async function beginOidc(mount: string, role: string): Promise<void> {
  const nonce = randomText()
  const { data, warnings } = await authUrl(
    {
      params: { jwt_mount_path: mount },
      body: { ...(role !== '' && { role }), redirect_uri: redirectUri(mount), client_nonce: nonce },
    },
    { token: null },
  )
  if (data.auth_url === '')
    throw new LoginProblem(
      `${strings.login.noAuthUrl} ${warnings?.join(' ') ?? strings.login.noAuthUrlCause}`,
    )
  if (!/^https?:\/\//i.test(data.auth_url)) throw new LoginProblem(strings.login.badAuthUrl)
  const [state = ''] = (new URL(data.auth_url).searchParams.get('state') ?? '').split(',ns=')
  // the page that takes a posted form looks for the state
  const pending: v.InferOutput<typeof pendingLogin> = {
    mount,
    role,
    namespace: namespace(),
    nonce,
    destination: location.hash,
    state,
  }
  sessionStorage.setItem(key, JSON.stringify(pending))
  location.assign(data.auth_url)
}

/** A login that has come back from its provider. */
export type OidcReturn = {
  readonly mount: string
  readonly namespace: string
  readonly role: string
  readonly destination: string
  /** Whether this tab began it. */
  readonly isOwn: boolean
  readonly query: Readonly<Record<string, string>>
}

/** Takes the provider's answer out of the address, and what this tab has kept out of its storage. */
export function takeOidcReturn(): OidcReturn | undefined {
  const [, path] =
    /^vault\/auth\/(.+)\/oidc\/callback$/.exec(location.pathname.slice(uiBase.pathname.length)) ?? []
  if (path === undefined) return undefined
  const query = Object.fromEntries(new URL(location.href).searchParams)
  const kept = v.safeParse(pendingLogin, jsonOf(sessionStorage.getItem(key)))
  sessionStorage.removeItem(key)
  const pending = kept.success ? kept.output : undefined
  const [state = '', inState] = (query['state'] ?? '').split(',ns=')
  const { namespace: inQuery, ...rest } = query
  return {
    mount: decodeURIComponent(path),
    namespace: pending?.namespace ?? inState ?? inQuery ?? '',
    role: pending?.role ?? '',
    destination: pending?.destination ?? '',
    isOwn: pending?.state === state,
    query: { ...rest, state, ...(pending !== undefined && { client_nonce: pending.nonce }) },
  }
}

function jsonOf(text: string | null): unknown {
  try {
    return JSON.parse(text ?? '')
  } catch {
    return undefined
  }
}

/** The login belongs to somebody else: a link must not log people in under another name. */
export class ForeignLogin extends Error {
  override readonly name = 'ForeignLogin'
}

/** Exchanges the provider's answer for a token. */
export async function completeOidc({ mount, query, isOwn }: OidcReturn): Promise<string> {
  if (!isOwn) throw new ForeignLogin()
  const { auth } = await oidcCallback({ params: { jwt_mount_path: mount }, query }, { token: null })
  return auth.client_token
}
