import { expect, test } from 'vitest'
import { openEngineHouse } from './engine-house.ts'

test('the end of the engine ends a request for a token, which belongs to no caller', async () => {
  await using house = await openEngineHouse()
  house.directory.fault({ kind: 'held', operation: 'token', times: null })
  const { tokens } = await house.state.upstream()
  const asked = tokens.token('directory', { deadline: house.clock.now() + 60_000, correlationId: '9c1d8f30-0000-4000-8000-000000000001' })
  const refused = expect(asked).rejects.toThrow()
  await house.directory.journal.arrived('token')

  await house.engine[Symbol.asyncDispose]()

  await refused
})
