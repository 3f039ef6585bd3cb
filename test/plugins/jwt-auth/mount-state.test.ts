import { expect, test } from 'vitest'
import { OutboundClient } from '../../../src/core/outbound.ts'
import { SharedSources } from '../../../src/plugins/jwt-auth/shared-sources.ts'
import { MountState } from '../../../src/plugins/jwt-auth/mount-state.ts'
import { readRole, shownRole } from '../../../src/plugins/jwt-auth/role.ts'
import { Limiter } from '../../../src/lib/limiter.ts'
import { openCoreView } from '../../support/core-view.ts'

test('fields of a later version survive writes of the configuration and of a role', async () => {
  await using core = await openCoreView()
  const { view, clock } = core
  const outbound = new OutboundClient({ deny: [] })
  const state = new MountState(view, {
    sources: new SharedSources({ outbound, clock }),
    gate: new Limiter(1),
    limits: { maxTokenSize: 0 },
    clock,
    onFetch: () => {},
  })
  await view.write([
    { key: 'config', value: { jwt_validation_pubkeys: ['old'], of_later: true } },
    { key: 'role/dev', value: { role_type: 'jwt', user_claim: 'sub', policies: ['a'], of_later: true } },
  ])

  await state.changeConfig((before) => {
    if (before === undefined) throw new Error('there is no configuration')
    return { ...before, jwt_validation_pubkeys: ['new'] }
  })
  await state.changeRole('dev', (before) => ({ ...before?.record, user_claim: 'email', policies: undefined }))

  expect(await view.get('config')).toMatchObject({ jwt_validation_pubkeys: ['new'], of_later: true })
  expect(await view.get('role/dev')).toEqual({
    bound_claims_type: 'string',
    role_type: 'jwt',
    user_claim: 'email',
    of_later: true,
  })
})

test('a stored role without types is read as one from before types existed', async () => {
  expect(shownRole(readRole('r', { user_claim: 'sub', bound_subject: 's' }))).toMatchObject({
    role_type: 'jwt',
    bound_claims_type: 'string',
  })
})
