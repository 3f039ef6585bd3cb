import { describe, expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import type { Provider } from '../../simulators/ci-issuer/providers.ts'
import { startTestServer } from '../support/start-server.ts'
import { namedRefusals, readPage, workThrough } from './page.ts'

type Guide = {
  readonly page: string
  readonly provider: Provider
  /** The token that the page makes the job request. */
  readonly asked: Record<string, unknown>
  readonly metadata: Record<string, unknown>
  /** A mistake, and the reason that the page must list for it. */
  readonly wrong: readonly [claims: Record<string, unknown>, reason: string, hint?: string][]
}

const guides: Guide[] = [
  {
    page: 'github-actions',
    provider: 'github',
    asked: { aud: 'gatehouse' },
    metadata: { role: 'deploy-shop', repository: 'acme/shop', ref: 'refs/heads/main', actor: 'octavia' },
    wrong: [
      [{ aud: undefined }, 'audience_mismatch'],
      [{ ref: 'refs/pull/7/merge' }, 'bound_claim_mismatch'],
      [{ repository: 'Acme/Shop' }, 'bound_claim_mismatch', 'differs_in_case'],
      [{ repository_owner_id: 65411 }, 'bound_claim_mismatch', 'differs_in_type'],
      [{ iss: 'https://github.acme.example/_services/token' }, 'issuer_mismatch'],
      [{ iat: 1_700_000_000, nbf: 1_700_000_000, exp: 1_700_000_300 }, 'expired'],
    ],
  },
  {
    page: 'gitlab-ci',
    provider: 'gitlab',
    asked: { aud: 'gatehouse' },
    metadata: { role: 'deploy-shop', project_path: 'acme/platform/shop', ref: 'main', user_login: 'octavia' },
    wrong: [
      [{ aud: 'https://gatehouse.example' }, 'audience_mismatch'],
      [{ namespace_id: 72 }, 'bound_claim_mismatch', 'differs_in_type'],
      [{ ref_protected: 'false' }, 'bound_claim_mismatch'],
      [{ ref: 'feature' }, 'bound_claim_mismatch'],
      [{ iat: 1_700_000_000, nbf: 1_700_000_000, exp: 1_700_000_300 }, 'expired'],
    ],
  },
  {
    page: 'kubernetes',
    provider: 'kubernetes',
    asked: { aud: ['gatehouse'] },
    metadata: {
      role: 'deploy-shop',
      namespace: 'shop',
      service_account: 'deployer',
      pod: 'deployer-6f9b7c8d5-x2x7k',
    },
    wrong: [
      [{ aud: undefined }, 'audience_mismatch'],
      [
        { 'kubernetes.io': { namespace: 'shop', serviceaccount: { name: 'default', uid: 'x' } } },
        'subject_mismatch',
      ],
      [{ iss: 'kubernetes/serviceaccount' }, 'issuer_mismatch'],
      [{ iat: 1_700_000_000, nbf: 1_700_000_000, exp: 1_700_000_300 }, 'expired'],
    ],
  },
]

describe.each(guides)('docs/providers: $page', ({ page: name, provider, asked, metadata, wrong }) => {
  test('every request of the page works as written, and the login grants what the role says', async () => {
    await using issuer = await startIssuer()
    await using server = await startTestServer()

    const reader = await workThrough(readPage(name), server, {
      given: { ISSUER: issuer.url, JWT: await issuer.signPipeline(provider, asked) },
    })

    const login = reader.answer('/login')
    expect(login.body.auth).toMatchObject({
      token_policies: ['default', 'deploy-shop'],
      lease_duration: 900,
      metadata,
    })
    expect(reader.answer('/lint').body.data?.['findings']).toEqual([])
    // the last explanation is of the claims on the page
    expect(reader.answer('/explain').body.data).toMatchObject({
      allowed: true,
      reason: '',
      login: { token_policies: ['default', 'deploy-shop'] },
    })
  })

  test('the request of the page explains each mistake, and its table lists it', async () => {
    const page = readPage(name)
    await using issuer = await startIssuer()
    await using server = await startTestServer()
    const reader = await workThrough(page, server, {
      given: { ISSUER: issuer.url, JWT: await issuer.signPipeline(provider, asked) },
    })

    for (const [claims, reason, hint = ''] of wrong) {
      reader.variables.set(
        'JWT',
        await issuer.signPipeline(provider, {
          ...asked,
          ...claims,
          ...('aud' in claims && claims['aud'] === undefined ? { aud: 'other' } : {}),
        }),
      )
      const login = await reader.again('/login')
      const explained = await reader.again('/explain')
      expect({ status: login.status, error: login.body.errors?.[0] }).toEqual({
        status: 400,
        error: explained.body.data?.['error'],
      })
      expect(explained.body.data).toMatchObject({ allowed: false, reason })
      if (hint !== '') expect(JSON.stringify(explained.body.data?.['checks'])).toContain(`"hint":"${hint}"`)
      expect(namedRefusals(page)).toContain(reason)
    }
  })
})
