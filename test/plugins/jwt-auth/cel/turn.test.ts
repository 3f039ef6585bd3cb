import { expect, test } from 'vitest'
import { OutboundClient } from '../../../../src/core/outbound/outbound.ts'
import { CheckQueue } from '../../../../src/jwt/jws/check-queue.ts'
import { SharedSources } from '../../../../src/jwt/keys/shared-sources.ts'
import { celLogin } from '../../../../src/plugins/jwt-auth/cel/cel-login.ts'
import type { CelRole } from '../../../../src/plugins/jwt-auth/cel/cel-role.ts'
import type { Evaluation } from '../../../../src/plugins/jwt-auth/cel/evaluator.ts'
import { readConfig } from '../../../../src/plugins/jwt-auth/config/jwt-config.ts'
import { MountState } from '../../../../src/plugins/jwt-auth/config/mount-state.ts'
import { openCoreView } from '../../../support/core-view.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { aSigner } from '../signer.ts'

const start = 1_800_000_000
const signer = aSigner('ES256')
const role = (expression: string, fields: object = {}) => ({ cel_program: { expression }, ...fields })

type Waiting = { readonly state: MountState; pass(seconds: number): void }

/** A login that waits for its turn while something happens: the program that is evaluated then, or the refusal. */
async function turnAfter(happens: (waiting: Waiting) => unknown) {
  const clock = new FakeClock(start * 1000)
  await using core = await openCoreView()
  const view = core.view.view('mount/', { numbers: 'literal' })
  const write = (key: string, value: unknown) => view.write([{ key, value }])
  await write('config', { jwt_validation_pubkeys: [signer.pem] })
  await write('cel/role/r', role('false'))
  using state = new MountState(view, {
    sources: new SharedSources({ outbound: new OutboundClient({ deny: [] }), clock }),
    clock,
    queue: new CheckQueue(64),
    limits: { maxTokenSize: 0 },
    onFetch: () => {},
  })
  let judged: Evaluation | undefined
  const login = celLogin(
    { role: 'r', jwt: signer.sign({ sub: 'joe', iat: start, exp: start + 600 }), operation: 'update' },
    {
      state,
      remoteAddress: '192.0.2.1',
      now: () => clock.now(),
      evaluate: async (atTurn) => {
        await happens({ state, pass: (seconds) => clock.advance(seconds) })
        judged = await atTurn()
        return { variables: [], outcome: { kind: 'denied' } }
      },
    },
  )
  const refused = await login.then(
    () => 'a login',
    (error: Error) => error.message,
  )
  return judged ?? refused
}

test('a login is judged by the time of its turn', async () => {
  expect(await turnAfter(({ pass }) => pass(600))).toMatchObject({
    program: { expression: 'false' },
    input: { now: (start + 600) * 1000 },
  })
})

test('a token that expires while its login waits is refused', async () => {
  expect(await turnAfter(({ pass }) => pass(661))).toMatch(/^error validating token: .*token is expired$/)
})

test('a role that changes while a login waits decides as it is then', async () => {
  const change =
    (fields: object = {}) =>
    ({ state }: Waiting) =>
      state.celRoles.change('r', (before) => ({
        ...changed(before),
        cel_program: { expression: '"new"' },
        ...fields,
      }))

  expect(await turnAfter(change())).toMatchObject({ program: { expression: '"new"' } })
  expect(await turnAfter(change({ bound_audiences: ['x'] }))).toMatch(/invalid audience \(aud\) claim/)
})

test('a role that is deleted while a login waits refuses it', async () => {
  expect(await turnAfter(({ state }) => state.celRoles.delete('r'))).toBe('role "r" could not be found')
})

test('an issuer that is bound while a login waits refuses the tokens of others', async () => {
  const config = { jwt_validation_pubkeys: [signer.pem], bound_issuer: 'https://other.example.com' }

  expect(await turnAfter(({ state }) => state.changeConfig(() => readConfig(config)))).toMatch(
    /invalid issuer \(iss\) claim$/,
  )
})

test('pins that no longer name its key while a login waits refuse it', async () => {
  const config = { jwt_validation_pubkeys: [signer.pem], allowed_key_thumbprints: ['A'.repeat(43)] }

  expect(await turnAfter(({ state }) => state.changeConfig(() => readConfig(config)))).toMatch(
    /the key that signed it is not allowed$/,
  )
})

function changed(before: CelRole | undefined) {
  if (before === undefined) throw new Error('there is no role')
  return before.record
}
