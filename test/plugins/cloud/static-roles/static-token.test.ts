import { afterAll, beforeAll, expect, test } from 'vitest'
import type { CloudFixture } from '../cloud-fixture.ts'
import { status } from '../credential-steps.ts'
import { aStaticRole, errorOf, hour, startStaticFixture, succeed } from './static-role-steps.ts'

let fixture: CloudFixture
beforeAll(async () => {
  fixture = await startStaticFixture()
})
afterAll(() => fixture[Symbol.asyncDispose]())

const ask = (name: string, body: object) => fixture.root.write(`cloud/static-creds/${name}/token`, body)
const scope = 'https://graph.microsoft.com/.default'
const claimsOf = (token: unknown) =>
  JSON.parse(Buffer.from(String(token).split('.')[1] ?? '', 'base64url').toString())
const exchanges = () => fixture.directory.journal.entries({ operation: 'token' }).length

test('a token of the application is given without a lease, and again while half of its life is left', async () => {
  const { appId } = await aStaticRole(fixture, 'first')
  fixture.directory.journal.clear()

  const answer = await ask('first', { scope })

  const token = succeed(answer)
  expect(answer.body.lease_id).toBe('')
  expect(token).toEqual({
    token_type: 'Bearer',
    expires_in: expect.any(Number),
    ext_expires_in: expect.any(Number),
    access_token: expect.any(String),
  })
  expect(claimsOf(token['access_token'])).toMatchObject({ appid: appId, aud: 'https://graph.microsoft.com' })
  expect(succeed(await ask('first', { scope }))['access_token']).toBe(token['access_token'])
  expect(exchanges()).toBe(1)
  fixture.clock.advance(0.6 * hour)
  await ask('first', { scope })
  await ask('first', { scope, fresh: true })
  expect(exchanges()).toBe(3)
})

test('a rotation makes new tokens', async () => {
  await aStaticRole(fixture, 'turned')
  succeed(await ask('turned', { scope }))
  succeed(await fixture.root.write('cloud/rotate-role/turned', {}), 204)
  fixture.directory.journal.clear()

  succeed(await ask('turned', { scope }))

  expect(exchanges()).toBe(1)
})

test.each([
  { body: {}, error: "400 missing required field 'scope'" },
  { body: { scope: 'openid' }, error: '400 scope must be one resource followed by /.default' },
  { body: { scope: 'https://vault.azure.net/.default' }, error: '403 permission denied' },
])('$body is refused: $error', async ({ body, error }) => {
  await fixture.root.delete('cloud/static-roles/scoped')
  await aStaticRole(fixture, 'scoped', { allowed_scopes: [scope] })

  expect(errorOf(await ask('scoped', body)).replace(/1 error occurred:\n\t\* |\n/g, '')).toBe(error)
})

test('roles that do not exist, have no password or whose application is refused get 400', async () => {
  await aStaticRole(fixture, 'empty', { defer_initial_creds: true })
  await aStaticRole(fixture, 'refused')
  fixture.directory.fault(
    status('token', 400, {
      body: JSON.stringify({
        error: 'invalid_resource',
        error_description: 'AADSTS500011: no such resource',
        error_codes: [500_011],
      }),
    }),
  )

  expect(errorOf(await ask('refused', { scope }))).toMatch(/^400 error getting an access token: AADSTS500011/)
  expect(errorOf(await ask('nobody', { scope }))).toBe("400 role 'nobody' does not exist")
  expect(errorOf(await ask('empty', { scope }))).toBe(
    "400 no client_secret is stored for role 'empty'; rotate the role first",
  )
})
