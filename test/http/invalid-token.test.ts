import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { invalidToken, notAccepted } from '../support/error-bodies.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const clock = new FakeClock()
let server: TestServer
beforeAll(async () => {
  server = await startTestServer({ clock })
})
afterAll(() => server[Symbol.asyncDispose]())

async function created(fields: object): Promise<string> {
  const { body } = await server.root.write('auth/token/create', { policies: ['default'], ...fields })
  return String(body.auth?.client_token)
}

async function ofEntity(): Promise<{ token: string; entity: string }> {
  await server.root.write('auth/token/roles/r', { allowed_entity_aliases: ['*'] })
  const { body } = await server.root.write('auth/token/create/r', { entity_alias: 'someone' })
  return { token: String(body.auth?.client_token), entity: String(body.auth?.entity_id) }
}

const ended: Record<string, () => Promise<string>> = {
  unknown: async () => 'hvs.unknown',
  revoked: async () => {
    const token = await created({})
    await server.root.write('auth/token/revoke', { token })
    return token
  },
  expired: async () => {
    const token = await created({ ttl: '60s' })
    clock.advance(60)
    return token
  },
  'an expired batch token': async () => {
    const token = await created({ ttl: '60s', type: 'batch' })
    clock.advance(60)
    return token
  },
  spent: async () => {
    const token = await created({ num_uses: 1 })
    await server.as(token).read('auth/token/lookup-self')
    return token
  },
  'of a deleted entity': async () => {
    const { token, entity } = await ofEntity()
    await server.root.delete(`identity/entity/id/${entity}`)
    return token
  },
}

describe.each(Object.entries(ended))('a token that is %s', (_, made) => {
  test.each([
    ['GET', 'auth/token/lookup-self'],
    ['POST', 'auth/token/renew-self'],
    ['GET', 'sys/internal/ui/mounts'],
    ['GET', 'nope'],
    ['PUT', 'sys/seal'],
    ['POST', 'sys/wrapping/wrap'],
    ['GET', 'metrics'],
  ])('is told so by %s %s', async (verb, path) => {
    const answer = await server.as(await made()).call(verb, path)

    expect(answer).toMatchObject({ status: 403, body: invalidToken })
  })
})

test('a request without a token, or with a valid one that may not be used, is not called invalid', async () => {
  const { token, entity } = await ofEntity()
  await server.root.write(`identity/entity/id/${entity}`, { disabled: true })
  await server.root.write('auth/token/roles/far', { token_bound_cidrs: ['10.9.8.7'] })
  const { body } = await server.root.write('auth/token/create/far', { policies: ['default'] })
  const far = String(body.auth?.client_token)

  for (const client of [server.anonymous, server.as(token), server.as(far)])
    expect((await client.read('auth/token/lookup-self')).body).toEqual(notAccepted)
})
