import { afterEach, beforeEach, expect, test } from 'vitest'
import { writeRole } from '../../../../src/plugins/cloud/roles/write-role.ts'
import { guids } from '../cloud-fixture.ts'
import { type EngineFixture, openEngineFixture } from '../engine-fixture.ts'

let fixture: EngineFixture

beforeEach(async () => {
  fixture = await openEngineFixture()
  const scope = `/subscriptions/${fixture.directory.subscriptionId}`
  const cloud_roles = JSON.stringify([
    { role_id: `${scope}/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`, scope },
  ])
  await writeRole(
    'ci',
    { cloud_roles },
    fixture.engine.work(fixture.mount, 'c0ffee00-0000-4000-8000-000000000000'),
  )
})
afterEach(() => fixture[Symbol.asyncDispose]())

/** A request, and a function that disconnects its client. */
function ask(input: Parameters<EngineFixture['engine']['credentials']['make']>[0]['input'] = {}) {
  const listeners = new Set<() => void>()
  const answer = fixture.engine.credentials
    .make({
      call: { requestId: 'c0ffee00-0000-4000-8000-000000000001', path: 'cloud/creds/ci' },
      mount: fixture.mount,
      caller: undefined,
      role: 'ci',
      input,
      whenGone: (listener) => {
        listeners.add(listener)
        return () => listeners.delete(listener)
      },
    })
    .then(() => 'made', String)
  const hangUp = () => {
    for (const listener of listeners) listener()
  }
  return { answer, listeners, hangUp }
}

const living = () =>
  fixture.directory.inventory().filter(({ deleted, kind }) => !deleted || kind === 'role-assignment')
const calls = () => fixture.directory.journal.entries({ operation: 'createApplication' }).length

test('a credential is undone if its client has disconnected', async () => {
  fixture.directory.fault({ kind: 'held', operation: 'putRoleAssignment' })
  const { answer, hangUp } = ask()
  await fixture.directory.journal.arrived('putRoleAssignment', 1)
  hangUp()
  fixture.directory.release()

  expect(await answer).toContain('the client is gone')

  expect(await fixture.state.intents.undoAll()).toEqual([])
  expect(living()).toEqual([])
})

test('the wait for readiness ends when the client disconnects', async () => {
  // the root's token for the directory passes, the sign-in with the new secret is held
  fixture.directory.fault({ kind: 'held', operation: 'token', skip: 1 })
  const { answer, hangUp } = ask({ wait: 'ready' })
  await fixture.directory.journal.arrived('token', 3)
  hangUp()
  fixture.directory.release()

  expect(await answer).toContain('the client is gone')

  expect(await fixture.state.intents.undoAll()).toEqual([])
  expect(living()).toEqual([])
})

test('nothing is created for a client that disconnects or times out while it waits for its turn', async () => {
  Object.assign(fixture.mount, { options: { max_in_flight: '1' } })
  fixture.directory.fault({ kind: 'held', operation: 'createApplication' })
  const [first, second, third] = [ask(), ask(), ask()]
  await fixture.directory.journal.arrived('createApplication', 1)
  second.hangUp()
  // the time limit of the request has passed
  fixture.clock.advance(90)
  fixture.directory.release()
  fixture.directory.clearFaults()

  expect(await second.answer).toContain('the client is gone')
  expect(await third.answer).toContain('context deadline exceeded')
  expect(await first.answer).not.toBe('made')
  expect(calls()).toBe(1)
})

test('a client is not watched after its response', async () => {
  const { answer, listeners } = ask()

  expect(await answer).toBe('made')
  expect(listeners.size).toBe(0)
})
