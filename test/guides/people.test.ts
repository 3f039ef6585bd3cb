import { describe, expect, test } from 'vitest'
import { claimsOf, type Provider } from '../../simulators/ci-issuer/providers.ts'
import {
  clientId,
  clientSecret,
  type SmallProvider,
  startSmallProvider,
} from '../plugins/jwt-auth/oidc/small-provider.ts'
import { startTestServer } from '../support/start-server.ts'
import { namedRefusals, readPage, type Steps, workThrough } from './page.ts'

type Guide = {
  readonly page: string
  readonly provider: Provider
  /** The path of the issuer of such a provider. */
  readonly issuerPath: string
  readonly metadata: Record<string, unknown>
  /** The policies that a group of the page grants, or the role itself. */
  readonly policies: { token_policies: string[]; identity_policies?: string[] }
  /** Its provider omits empty claims. */
  readonly admitsWithoutGroups?: true
  readonly wrong: readonly [claims: Record<string, unknown>, reason: string][]
}

const byGroup = { token_policies: ['default'], identity_policies: ['developer'] }

const guides: Guide[] = [
  {
    page: 'entra-id',
    provider: 'entra',
    issuerPath: '/9a3d4b10-2c55-4f1e-8a77-51f0a2b6c9d3/v2.0',
    metadata: { role: 'people', username: 'octavia@acme.example', name: 'Octavia Butler' },
    policies: byGroup,
    admitsWithoutGroups: true,
    wrong: [
      [{ groups: undefined, hasgroups: true }, 'groups_unavailable'],
      [{ oid: undefined }, 'user_claim_missing'],
      [{ tid: 'another' }, 'bound_claim_mismatch'],
    ],
  },
  {
    page: 'okta',
    provider: 'okta',
    issuerPath: '/oauth2/default',
    metadata: { role: 'people', username: 'octavia@acme.example', email: 'octavia@acme.example' },
    policies: byGroup,
    wrong: [[{ groups: undefined }, 'groups_unavailable']],
  },
  {
    page: 'google',
    provider: 'google',
    issuerPath: '',
    metadata: { role: 'people', email: 'octavia@acme.example', name: 'Octavia Butler' },
    policies: { token_policies: ['default', 'developer'] },
    wrong: [
      [{ hd: undefined }, 'bound_claim_missing'],
      [{ hd: 'other.example' }, 'bound_claim_mismatch'],
    ],
  },
  {
    page: 'keycloak',
    provider: 'keycloak',
    issuerPath: '/realms/acme',
    metadata: { role: 'people', username: 'octavia', email: 'octavia@acme.example' },
    policies: byGroup,
    admitsWithoutGroups: true,
    wrong: [
      [{ groups: { developers: true } }, 'groups_invalid'],
      [{ aud: 'account', azp: 'other' }, 'authorized_party_mismatch'],
      [{ exp: 1_700_000_000 }, 'expired'],
    ],
  },
  {
    page: 'auth0',
    provider: 'auth0',
    issuerPath: '/',
    metadata: { role: 'people', email: 'octavia@acme.example', nickname: 'octavia' },
    policies: byGroup,
    wrong: [
      [{ 'https://gatehouse.example/roles': undefined }, 'groups_unavailable'],
      [{ iss: 'https://login.acme.example/' }, 'issuer_mismatch'],
    ],
  },
]

/** A provider that signs people in with the claims that theirs would send. */
async function startLike(
  issuerPath: string,
): Promise<{ provider: SmallProvider; issuer: string } & AsyncDisposable> {
  const provider = await startSmallProvider()
  const issuer = provider.url + issuerPath
  const document = provider.web.routes.get('/.well-known/openid-configuration')
  provider.web.routes.set(`${issuerPath.replace(/\/$/, '')}/.well-known/openid-configuration`, {
    ...(document as object),
    issuer,
  })
  return { provider, issuer, [Symbol.asyncDispose]: () => provider[Symbol.asyncDispose]() }
}

/** A reader takes group, accessor, state and code from responses, and signs in. */
function steps(
  fixture: { provider: SmallProvider; issuer: string },
  claims: (login: URLSearchParams) => Record<string, unknown>,
): Steps {
  return {
    given: { ISSUER: fixture.issuer, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret },
    after(path, answer, variables) {
      const data = answer.status === 204 ? undefined : answer.body.data
      if (path === 'sys/auth/oidc' && data !== undefined && data !== null)
        variables.set('ACCESSOR', String(data['accessor']))
      if (path === 'identity/group') variables.set('GROUP', String(data?.['id']))
      if (path === 'auth/oidc/oidc/auth_url') signIn(String(data?.['auth_url']), variables)
    },
  }

  function signIn(url: string, variables: Map<string, string>): void {
    const login = new URLSearchParams(url.split('?')[1])
    variables.set('STATE', login.get('state') ?? '')
    variables.set('CODE', fixture.provider.codeFor(login, { claims: claims(login) }))
  }
}

describe.each(guides)(
  'docs/providers: $page',
  ({ page: name, provider, issuerPath, metadata, policies, wrong, admitsWithoutGroups = false }) => {
    const person = (issuer: string, given: Record<string, unknown> = {}) => {
      const claims = claimsOf(provider, { issuer, now: Math.floor(Date.now() / 1000) })
      const ofClient = { ...claims, aud: clientId, ...('azp' in claims ? { azp: clientId } : {}) }
      return { ...ofClient, ...given }
    }

    test('every request of the page works as written, and the person gets the policies that the page promises', async () => {
      await using fixture = await startLike(issuerPath)
      await using server = await startTestServer()

      const reader = await workThrough(
        readPage(name),
        server,
        steps(fixture, () => person(fixture.issuer)),
      )

      expect(reader.answer('/callback').body.auth).toMatchObject({
        ...policies,
        metadata,
        lease_duration: 3600,
      })
      expect(reader.answer('/lint').body.data?.['findings']).toEqual([])
      expect(reader.answer('/status').body.data).toMatchObject({ ok: true, type: 'oidc' })
      const checks = reader.answer('/explain').body.data?.['checks'] as unknown as {
        name: string
        verdict: string
      }[]
      const failed = checks.filter(({ verdict }) => verdict === 'fail').map((check) => check.name)
      // explain cannot check these for a browser login, as the page says
      expect(failed.filter((check) => !['role', 'times', 'audience'].includes(check))).toEqual([])
      for (const check of ['user_claim', 'groups', 'metadata', 'bound_claims']) {
        expect(checks.filter((each) => each.name === check && each.verdict !== 'pass')).toEqual([])
      }
    })

    test('the requests of the page find each mistake, and its table lists it', async () => {
      const page = readPage(name)
      await using fixture = await startLike(issuerPath)
      await using server = await startTestServer()
      let given: Record<string, unknown> = {}
      const { given: variables, after } = steps(fixture, () => person(fixture.issuer, given))
      const reader = await workThrough(page, server, {
        given: variables,
        ...(after === undefined ? {} : { after }),
      })

      for (const [claims, reason] of wrong) {
        given = claims
        after?.('auth/oidc/oidc/auth_url', await reader.again('/auth_url'), reader.variables)
        const refused = await reader.again('/callback')
        const failures = (await reader.again('/failures')).body.data?.['failures'] as unknown as {
          reason: string
          request_id: string
        }[]
        expect(refused.status).toBe(400)
        expect(failures[0]).toMatchObject({ reason, request_id: refused.body['request_id'] })
        expect(namedRefusals(page)).toContain(reason)
      }
    })

    test.runIf(admitsWithoutGroups)(
      'a person without groups gets in, without the policies of groups',
      async () => {
        await using fixture = await startLike(issuerPath)
        await using server = await startTestServer()

        const reader = await workThrough(
          readPage(name),
          server,
          steps(fixture, () => person(fixture.issuer, { groups: undefined })),
        )

        expect(reader.answer('/callback').body.auth).toMatchObject({
          token_policies: ['default'],
          policies: ['default'],
        })
      },
    )

    test('an issuer that is nearly right is refused when it is configured', async () => {
      await using fixture = await startLike(issuerPath)
      await using server = await startTestServer()
      const issuer = issuerPath.endsWith('/') ? fixture.issuer.slice(0, -1) : `${fixture.issuer}/`

      const worked = workThrough(readPage(name), server, {
        ...steps(fixture, () => ({})),
        given: { ...steps(fixture, () => ({})).given, ISSUER: issuer },
      })

      await expect(worked).rejects.toThrow('error checking oidc discovery URL')
      expect(namedRefusals(readPage(name))).toContain('error checking oidc discovery URL')
    })
  },
)
