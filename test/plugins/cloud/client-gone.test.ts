import { afterEach, beforeEach, expect, test } from 'vitest'
import { guids } from './cloud-house.ts'
import { type EngineHouse, openEngineHouse } from './engine-house.ts'

let house: EngineHouse

beforeEach(async () => {
  house = await openEngineHouse()
  const scope = `/subscriptions/${house.directory.subscriptionId}`
  const cloud_roles = JSON.stringify([{ role_id: `${scope}/providers/Microsoft.Authorization/roleDefinitions/${guids.reader}`, scope }])
  await house.engine.putRole(house.mount, 'ci', { cloud_roles }, 'c0ffee00-0000-4000-8000-000000000000')
})
afterEach(() => house[Symbol.asyncDispose]())

/** A request, and the end of its client. */
function ask(input: Parameters<EngineHouse['engine']['credentials']['make']>[0]['input'] = {}) {
  const listeners = new Set<() => void>()
  const answer = house.engine.credentials
    .make({
      call: { requestId: 'c0ffee00-0000-4000-8000-000000000001' },
      ...{ mount: house.mount, caller: undefined, role: 'ci', input },
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

const living = () => house.directory.inventory().filter(({ deleted, kind }) => !deleted || kind === 'role-assignment')
const calls = () => house.directory.journal.entries({ operation: 'createApplication' }).length

test('a credential is undone when its client has disconnected', async () => {
  house.directory.fault({ kind: 'held', operation: 'putRoleAssignment' })
  const { answer, hangUp } = ask()
  await house.directory.journal.arrived('putRoleAssignment', 1)
  hangUp()
  house.directory.release()

  expect(await answer).toContain('the client is gone')

  expect(await house.state.intents.undoAll()).toEqual([])
  expect(living()).toEqual([])
})

test('readiness is not awaited when the client has disconnected', async () => {
  // the root's own for the directory goes through, the proof is held
  house.directory.fault({ kind: 'held', operation: 'token', skip: 1 })
  const { answer, hangUp } = ask({ wait: 'ready' })
  await house.directory.journal.arrived('token', 3)
  hangUp()
  house.directory.release()

  expect(await answer).toContain('the client is gone')

  expect(await house.state.intents.undoAll()).toEqual([])
  expect(living()).toEqual([])
})

test('nothing is created for a client that disconnects, or times out, while it waits for its turn', async () => {
  Object.assign(house.mount, { options: { max_in_flight: '1' } })
  house.directory.fault({ kind: 'held', operation: 'createApplication' })
  const [first, second, third] = [ask(), ask(), ask()]
  await house.directory.journal.arrived('createApplication', 1)
  second.hangUp()
  // none of the time of a request is left
  house.clock.advance(90)
  house.directory.release()
  house.directory.clearFaults()

  expect(await second.answer).toContain('the client is gone')
  expect(await third.answer).toContain('context deadline exceeded')
  expect(await first.answer).not.toBe('made')
  expect(calls()).toBe(1)
})

test('after an answer its client is no longer watched', async () => {
  const { answer, listeners } = ask()

  expect(await answer).toBe('made')
  expect(listeners.size).toBe(0)
})
