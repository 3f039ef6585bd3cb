import { expect, test } from 'vitest'
import { openEngineFixture } from './engine-fixture.ts'

test('disposing of the engine ends a request for a token, which belongs to no caller', async () => {
  await using fixture = await openEngineFixture()
  fixture.directory.fault({ kind: 'held', operation: 'token', times: null })
  const { tokens } = await fixture.state.upstream()
  const asked = tokens.token('directory', {
    deadline: fixture.clock.now() + 60_000,
    correlationId: '9c1d8f30-0000-4000-8000-000000000001',
  })
  const refused = expect(asked).rejects.toThrow()
  await fixture.directory.journal.arrived('token')

  await fixture.engine[Symbol.asyncDispose]()

  await refused
})
