import { Browser } from '../openid-provider/browser.ts'
import { startOpenIdProvider } from '../openid-provider/openid-provider.ts'
import { clientTokenOf, textIn } from '../operator.ts'
import type { Scene } from './scene.ts'

/** The address at which a person's command line waits for the browser. */
const redirectUri = 'http://localhost:8250/oidc/callback'

const client = {
  client_id: 'gatehouse',
  client_secret: 'known-to-two',
  application_type: 'native',
  redirect_uris: [redirectUri],
  scope: 'openid email groups',
}

/** A person signs in at a provider's pages and gets a token. */
export async function personLogin({ chapter, aside, step, root, stranger }: Scene): Promise<void> {
  const person = (name: string) => ({
    email: `${name}@acme.example`,
    email_verified: true,
    groups: ['developers'],
  })
  await using provider = await startOpenIdProvider({ clients: [client], person })

  chapter(
    'People log in through the OpenID provider of their company: the operator adds a mount for it, and a role for developers',
  )
  await step(root, 'POST', 'sys/auth/oidc', { expect: 204, body: { type: 'oidc' } })
  const { client_id, client_secret } = client
  const config = {
    oidc_discovery_url: provider.url,
    oidc_client_id: client_id,
    oidc_client_secret: client_secret,
    default_role: 'developers',
  }
  await step(root, 'POST', 'auth/oidc/config', { expect: 204, body: config })
  const role = {
    user_claim: 'email',
    groups_claim: 'groups',
    bound_claims: { groups: 'developers' },
    oidc_scopes: ['email', 'groups'],
    allowed_redirect_uris: [redirectUri],
  }
  await step(root, 'POST', 'auth/oidc/role/developers', { expect: 204, body: role })

  chapter('Ada asks where to sign in, does so in her browser, and comes back with a code')
  const nonce = 'known-to-ada-only'
  const requested = { redirect_uri: redirectUri, client_nonce: nonce }
  const start = await step(stranger, 'POST', 'auth/oidc/oidc/auth_url', {
    expect: 200,
    body: requested,
    show: ({ data }) => data,
  })
  const { url } = await new Browser().visit(textIn(start, 'data', 'auth_url'), {
    login: 'ada',
    password: 'hers alone',
  })
  aside(
    `In the browser: ${new URL(provider.url).host} shows a page, she signs in, and is sent to ${url.origin}${url.pathname}?code=…&state=…`,
  )
  const back = new URLSearchParams({
    state: url.searchParams.get('state') ?? '',
    code: url.searchParams.get('code') ?? '',
    client_nonce: nonce,
  })
  const login = await step(stranger, 'GET', `auth/oidc/oidc/callback?${back}`, {
    expect: 200,
    show: ({ auth }) => auth,
  })
  const ada = { url: stranger.url, token: clientTokenOf(login) }
  await step(ada, 'GET', 'auth/token/lookup-self', { expect: 200, show: ({ data }) => data })

  chapter('The code and the state are valid for one login only')
  await step(stranger, 'GET', `auth/oidc/oidc/callback?${back}`, { expect: 400 })
}
