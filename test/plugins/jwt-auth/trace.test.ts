import { expect, test } from 'vitest'
import { OutboundClient } from '../../../src/core/outbound/outbound.ts'
import { CheckQueue } from '../../../src/jwt/jws/check-queue.ts'
import { SharedSources } from '../../../src/jwt/keys/shared-sources.ts'
import type { CheckName, Refusal } from '../../../src/logins/refusals/refusal.ts'
import { isRefusal, type ReadToken, type Trace } from '../../../src/plugins/jwt-auth/checks/trace.ts'
import { MountState } from '../../../src/plugins/jwt-auth/config/mount-state.ts'
import { examineJwt, jwtLogin } from '../../../src/plugins/jwt-auth/login/login.ts'
import { openCoreView } from '../../support/core-view.ts'
import { aSigner } from './signer.ts'

/** Continues after a refusal, and records every check. */
class RecordingTrace implements Trace {
  readonly checks: { readonly name: CheckName; readonly refused: Refusal | undefined }[] = []

  check(name: CheckName, refused: Refusal | undefined): void {
    this.checks.push({ name, refused })
  }

  value<T extends object | string>(name: CheckName, result: T | Refusal): T | undefined {
    this.check(name, isRefusal(result) ? result : undefined)
    return isRefusal(result) ? undefined : result
  }

  async claims(verify: () => Promise<ReadToken | Refusal>): Promise<ReadToken | undefined> {
    return this.value('signature', await verify())
  }
}

const signer = aSigner('ES256')
const now = 1_800_000_000
const role = {
  role_type: 'jwt',
  user_claim: 'user',
  bound_audiences: ['gate'],
  bound_subject: 'alice',
  groups_claim: 'groups',
  bound_claims: { env: 'prod', ref: 'main' },
  token_bound_cidrs: ['127.0.0.1'],
}
const good = {
  iss: 'https://ci',
  sub: 'alice',
  aud: 'gate',
  iat: now,
  exp: now + 60,
  user: 'alice',
  groups: ['a'],
  env: 'prod',
  ref: 'main',
}

async function walked(claims: object, { remoteAddress = '127.0.0.1', by = signer } = {}) {
  await using core = await openCoreView()
  const outbound = new OutboundClient({ deny: [] })
  const parts = {
    sources: new SharedSources({ outbound, clock: core.clock }),
    queue: new CheckQueue(64),
    clock: core.clock,
    onFetch: () => {},
  }
  const state = new MountState(core.view, { ...parts, limits: { maxTokenSize: 0 } })
  await core.view.write([
    { key: 'config', value: { jwt_validation_pubkeys: [signer.pem], bound_issuer: 'https://ci' } },
    { key: 'role/ci', value: role },
  ])
  const trace = new RecordingTrace()
  const context = { state, remoteAddress, outbound, now: () => now * 1000 }
  const input = { role: 'ci', jwt: by.sign(claims), distributed_claim_access_token: '' }
  const auth = await examineJwt(input, context, trace)
  const answered = await jwtLogin(input, context).then(
    () => 'ok',
    (error: unknown) => (error instanceof Error ? error.message : ''),
  )
  return { auth, answered, checks: trace.checks }
}

test('a valid login passes every check, in order', async () => {
  const { auth, answered, checks } = await walked(good)

  expect(auth?.alias?.name).toBe('alice')
  expect(answered).toBe('ok')
  const order = [
    'config',
    'role',
    'role',
    'token',
    'address',
    'signature',
    'algorithm',
    'claims',
    'issuer',
    'subject',
    'audience',
    'times',
    'audience',
  ]
  expect(checks.map(({ name }) => name)).toEqual([
    ...order,
    'user_claim',
    'provider',
    'metadata',
    'groups',
    'bound_claims',
    'bound_claims',
  ])
  expect(checks.every(({ refused }) => refused === undefined)).toBe(true)
})

test('a recording trace runs all checks of a bad login, which itself returns the first refusal', async () => {
  const wrong = {
    ...good,
    iss: 'x',
    sub: 'y',
    aud: 'z',
    exp: 1,
    user: 5,
    groups: undefined,
    env: 'test',
    ref: 'x',
  }

  const { auth, answered, checks } = await walked(wrong, { remoteAddress: '10.0.0.1' })

  const reasons = checks.flatMap(({ refused }) => (refused === undefined ? [] : [refused.reason]))
  expect(reasons).toEqual([
    'address_not_bound',
    'issuer_mismatch',
    'subject_mismatch',
    'audience_mismatch',
    'expired',
    'user_claim_invalid',
    'groups_unavailable',
    'bound_claim_mismatch',
    'bound_claim_mismatch',
  ])
  expect(auth).toBeUndefined()
  expect(answered).toBe('permission denied')
})

test('without verified claims there is nothing more to check', async () => {
  const { answered, checks } = await walked(good, { by: aSigner('ES256') })

  expect(checks.at(-1)).toMatchObject({
    name: 'signature',
    refused: { reason: 'signature_invalid', text: answered },
  })
})
