import { Browser } from '../openid-provider/browser.ts'
import { type OpenIdProvider, startOpenIdProvider } from '../openid-provider/openid-provider.ts'
import { clientTokenOf, textIn } from '../operator.ts'
import type { Operator } from './operator.ts'

/** Everybody in the sample has it. */
export const samplePassword = 'gatehouse'

const callbackOf = (url: string): string => `${url}/ui/vault/auth/oidc/oidc/callback`

const client = { client_id: 'gatehouse', client_secret: 'known-to-two' }

/** The provider of the company: any name and any password. */
export const startStaffProvider = (url: string): Promise<OpenIdProvider> =>
  startOpenIdProvider({
    clients: [
      {
        ...client,
        application_type: 'native',
        redirect_uris: [callbackOf(url)],
        scope: 'openid email groups',
      },
    ],
    person: (name) => ({
      email: `${name}@acme.example`,
      email_verified: true,
      groups: name === 'olga' ? ['operators'] : ['developers'],
    }),
  })

/** A person of the sample, logged in. */
export type Person = { readonly name: string; readonly token: string }

const developer = `
path "team/data/shop/*" { capabilities = ["create", "read", "update"] }
path "team/metadata/*" { capabilities = ["read", "list"] }
path "cloud/creds/shop" { capabilities = ["read"] }
path "cloud/creds/web" { capabilities = ["read"] }
path "identity/group/id/*" { capabilities = ["read"] }
path "sys/leases/revoke" { capabilities = ["update"] }
`

const operatorPolicy =
  'path "*" { capabilities = ["create", "read", "update", "patch", "delete", "list", "sudo"] }'

/** A provider's login and one by password, a developer and an operator, and a group. */
export async function people(operator: Operator, provider: string): Promise<readonly Person[]> {
  const { write } = operator
  const shown = { config: { listing_visibility: 'unauth' } }
  await write('sys/policies/acl/developer', { policy: developer })
  await write('sys/policies/acl/operator', { policy: operatorPolicy })
  await write('sys/auth/oidc', { type: 'oidc', description: 'Single sign-on', ...shown })
  await write('auth/oidc/config', {
    oidc_discovery_url: provider,
    oidc_client_id: client.client_id,
    oidc_client_secret: client.client_secret,
    default_role: 'developers',
  })
  await write('auth/oidc/role/developers', {
    user_claim: 'email',
    groups_claim: 'groups',
    bound_claims: { groups: 'developers' },
    oidc_scopes: ['email', 'groups'],
    allowed_redirect_uris: [callbackOf(operator.url)],
    token_policies: ['developer'],
    token_ttl: '8h',
  })
  await write('sys/auth/people', { type: 'userpass', description: 'Name and password', ...shown })
  const names = [
    ['ada', 'developer'],
    ['grace', 'developer'],
    ['linus', 'developer'],
    ['olga', 'operator'],
  ] as const
  for (const [name, policy] of names)
    await write(`auth/people/users/${name}`, {
      password: samplePassword,
      token_policies: [policy],
      token_ttl: '8h',
    })
  const staff = await Promise.all(names.map(([name]) => logIn(operator, name)))
  await write('identity/group', {
    name: 'shop-team',
    policies: ['developer'],
    member_entity_ids: staff.slice(0, 2).map(({ entity }) => entity),
  })
  await refusedInTheBrowser(operator)
  return staff
}

async function logIn({ as }: Operator, name: string): Promise<Person & { readonly entity: string }> {
  const path = `auth/people/login/${name}`
  const answer = await as(undefined, { method: 'POST', path, body: { password: samplePassword } })
  return { name, token: clientTokenOf(answer), entity: textIn(answer, 'auth', 'entity_id') }
}

/** Olga is known to the provider, but is no developer: her login is refused. */
async function refusedInTheBrowser({ url, as }: Operator): Promise<void> {
  const nonce = 'known-to-olga-only'
  const begun = await as(undefined, {
    method: 'POST',
    path: 'auth/oidc/oidc/auth_url',
    body: { redirect_uri: callbackOf(url), client_nonce: nonce },
  })
  const visited = await new Browser().visit(textIn(begun, 'data', 'auth_url'), {
    login: 'olga',
    password: samplePassword,
  })
  const { searchParams: sent } = visited.url
  const query = new URLSearchParams({
    state: sent.get('state') ?? '',
    code: sent.get('code') ?? '',
    client_nonce: nonce,
  })
  await as(undefined, { method: 'GET', path: `auth/oidc/oidc/callback?${query}` })
}
