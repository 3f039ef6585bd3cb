import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Answer } from '../../../support/client.ts'
import { checksOf } from './checks.ts'
import { type Fields, type LoginFixture, openLoginFixture } from './fixture.ts'

let fixture: LoginFixture
beforeAll(async () => {
  fixture = await openLoginFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const told = ({ status, body }: Answer) => ({ status, error: body['errors']?.[0] ?? '' })

/** Explains a login and logs in; returns the result on which both agree. */
async function both(mount: string, jwt: string): Promise<Fields> {
  const explained = (await fixture.explain(mount, { jwt })).body['data']
  const login = told(await fixture.login(mount, { jwt }))
  expect({ status: explained?.['status'], error: explained?.['error'] }).toEqual(login)
  expect(explained?.['allowed']).toBe(login.status === 200)
  return {
    ...login,
    reason: explained?.['reason'],
    failed: checksOf(explained).find(({ verdict }) => verdict === 'fail')?.name ?? '',
  }
}

test('explain shows that a batch token would be too large', async () => {
  const policies = Array.from({ length: 100 }, (_, at) => `${'p'.repeat(600)}${at}`)
  const mount = await fixture.mount({
    role: { token_type: 'batch', token_policies: policies, token_replay_protection: true },
  })

  const found = await both(mount, await fixture.sign({ jti: 'a' }))
  expect(found).toMatchObject({
    status: 400,
    error: expect.stringMatching(/^the batch token is too long/),
    reason: 'metadata_invalid',
    failed: 'metadata',
  })
  const failures = (await fixture.root.read(`auth/${mount}/failures`)).body['data']?.['failures']
  expect(failures).toMatchObject([{ reason: 'metadata_invalid', status: 400, verified: true }])
  // refused, so not spent
  expect(await both(mount, await fixture.sign({ jti: 'a' }))).toEqual(found)
})

test('explain agrees with a login that issues a batch token once', async () => {
  const mount = await fixture.mount({ role: { token_type: 'batch', token_replay_protection: true } })
  const jwt = await fixture.sign({ jti: 'b' })

  expect(await both(mount, jwt)).toMatchObject({ status: 200 })
  expect(await both(mount, jwt)).toMatchObject({ status: 400, reason: 'token_replayed', failed: 'replay' })
})

test('explain shows that a directory cannot be reached', async () => {
  const mount = await fixture.mount({
    config: { provider_config: { provider: 'azure', fetch_groups: true } },
    role: { groups_claim: 'groups' },
  })

  expect(await both(mount, await fixture.sign({ groups: ['a'] }))).toMatchObject({
    status: 400,
    reason: 'groups_unavailable',
    failed: 'groups',
  })
})

test('groups that were not requested do not count as missing', async () => {
  const azure = { provider_config: { provider: 'azure', fetch_groups: true } }
  const bound_claims = { groups: 'ops', repository: 'acme/shop' }
  const mount = await fixture.mount({ config: azure, role: { groups_claim: 'groups', bound_claims } })
  const explain = async (over: Fields) => {
    const { body } = await fixture.explain(mount, {
      claims: fixture.claims(over),
      distributed_claim_access_token: 't',
    })
    const bound = checksOf(body['data']).filter(({ name }) => name === 'bound_claims')
    return { reason: body['data']?.['reason'], bound: bound.map(({ verdict }) => verdict).sort() }
  }

  expect(await explain({})).toEqual({ reason: '', bound: ['pass', 'skipped'] })
  expect(await explain({ repository: 'other' })).toEqual({
    reason: 'bound_claim_mismatch',
    bound: ['fail', 'skipped'],
  })
})

test('explain shows that a role is for other addresses or for browsers', async () => {
  const far = await fixture.mount({ role: { token_bound_cidrs: ['10.0.0.0/8'] } })
  const browsers = await fixture.mount({
    role: { role_type: 'oidc', allowed_redirect_uris: 'http://localhost/cb' },
  })

  expect(await both(far, await fixture.sign())).toMatchObject({ status: 403, reason: 'address_not_bound' })
  expect(await both(browsers, await fixture.sign())).toMatchObject({
    status: 400,
    reason: 'role_type_refused',
  })
})
