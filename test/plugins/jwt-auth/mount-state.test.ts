import { expect, test } from 'vitest'
import { OutboundClient } from '../../../src/core/outbound.ts'
import { FetchBuckets } from '../../../src/plugins/jwt-auth/fetch-bucket.ts'
import { MountState } from '../../../src/plugins/jwt-auth/mount-state.ts'
import { VerificationGate } from '../../../src/plugins/jwt-auth/verification-gate.ts'
import { openCoreView } from '../../support/core-view.ts'

test('fields of a later version survive writes of the configuration and of a role', async () => {
  await using core = await openCoreView()
  const { view, clock } = core
  const outbound = new OutboundClient({ deny: [] })
  const state = new MountState(view, {
    outbound,
    buckets: new FetchBuckets(clock),
    gate: new VerificationGate(1),
    limits: { maxTokenSize: 0 },
    clock,
    onFetch: () => {},
  })
  await view.write([
    { key: 'config', value: { jwt_validation_pubkeys: ['old'], oidc_public_client: true } },
    { key: 'role/dev', value: { role_type: 'jwt', user_claim: 'sub', policies: ['a'], token_replay_protection: true } },
  ])

  await state.changeConfig((before) => {
    if (before === undefined) throw new Error('there is no configuration')
    return { ...before, jwt_validation_pubkeys: ['new'] }
  })
  await state.changeRole('dev', (before) => ({ ...before?.record, user_claim: 'email', policies: undefined }))

  expect(await view.get('config')).toMatchObject({ jwt_validation_pubkeys: ['new'], oidc_public_client: true })
  expect(await view.get('role/dev')).toEqual({ bound_claims_type: 'string', role_type: 'jwt', user_claim: 'email', token_replay_protection: true })
})
