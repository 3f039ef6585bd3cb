import { expect, test } from 'vitest'
import { startCredentialProvider } from '../support/credential-provider.ts'
import { FakeClock } from '../support/fake-clock.ts'
import { type PracticeRole, practiceType } from '../support/practice-type.ts'
import { startTestServer } from '../support/start-server.ts'

/** A server with a mount type that no file in `src` knows, mounted at `practice/`. */
async function openServer() {
  await using opened = new AsyncDisposableStack()
  const provider = opened.use(await startCredentialProvider())
  const roles = new Map<string, PracticeRole>([['ci', { ttl: 3600, maxTtl: 0, renewable: true }]])
  const expired = Promise.withResolvers<string>()
  const plugins = [practiceType({ providerUrl: provider.url, roles, onExpired: expired.resolve })]
  const clock = new FakeClock()
  const server = opened.use(await startTestServer({ plugins, clock, settings: { METRICS: 'open' } }))
  const { root } = server
  expect((await root.write('sys/mounts/practice', { type: 'practice' })).status).toBe(204)
  const held = opened.move()
  return {
    provider,
    root,
    clock,
    expired: expired.promise,
    /** Resolves when a removal or move in the background is over. */
    until: async (path: string, isOver: (answer: Awaited<ReturnType<typeof root.read>>) => boolean) => {
      while (!isOver(await root.read(path)));
    },
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

test('a mount type defined outside of src serves fields and leased secrets', async () => {
  await using server = await openServer()
  const { root, provider } = server
  await root.write('practice/notes/a', { text: 'hello', ttl: '1h' })

  const note = await root.read('practice/notes/a')
  const secret = await root.read('practice/creds/ci')
  const renewed = await root.write('sys/leases/renew', { lease_id: secret.body.lease_id, increment: 60 })
  await root.write('sys/leases/revoke', { lease_id: secret.body.lease_id })

  expect(note.body).toMatchObject({ data: { text: 'hello', ttl: 3600 }, mount_type: 'practice' })
  expect((await root.write('practice/notes/b', { text: 'x', ttl: 'soon' })).status).toBe(400)
  expect([secret.body.lease_duration, renewed.body.lease_duration]).toEqual([3600, 60])
  expect(provider.alive.size).toBe(0)
})

test('its paths are in the OpenAPI document, in the help and in the metrics', async () => {
  await using server = await openServer()
  const { root } = server
  await root.write('practice/notes/a', { text: 'hello' })

  const document = await root.read('sys/internal/specs/openapi')
  const generic = await root.read('sys/internal/specs/openapi?generic_mount_paths=true')
  const help = await root.read('practice/notes/a?help=1')
  const metrics = await root.read('/metrics')

  expect(Object.keys(document.body.paths ?? {})).toContain('/practice/notes/{name}')
  expect(Object.keys(generic.body.paths ?? {})).toContain('/{practice_mount_path}/notes/{name}')
  expect(String(help.body.help)).toContain('Text of the note')
  expect(metrics.text).toContain('gatehouse_practice_notes{mount="practice/"} 1')
})

test('its background job runs', async () => {
  await using server = await openServer()
  await server.root.write('practice/notes/brief', { text: 'x', ttl: 60 })
  server.clock.advance(60)

  expect(await server.expired).toBe('brief')
  expect((await server.root.read('practice/notes/brief')).status).toBe(404)
})

test('its mounts are tuned and moved with their data', async () => {
  await using server = await openServer()
  const { root, provider } = server
  await root.write('practice/notes/a', { text: 'kept' })
  await root.read('practice/creds/ci')
  await root.write('sys/mounts/practice/tune', { max_lease_ttl: '10m', description: 'tuned' })

  const tuned = await root.read('practice/creds/ci')
  const move = await root.write('sys/remount', { from: 'practice', to: 'moved' })
  await server.until(
    `sys/remount/status/${String(move.body.data?.migration_id)}`,
    ({ body }) => String(body.data?.migration_info?.status) === 'success',
  )

  expect(tuned.body.lease_duration).toBe(600)
  expect((await root.read('moved/notes/a')).body.data?.text).toBe('kept')
  expect((await root.read('practice/notes/a')).status).toBe(404)
  expect(provider.alive.size).toBe(0)
})

test('a mount of it is removed with its namespace, and so are its leases and data', async () => {
  await using server = await openServer()
  const { root, provider } = server
  await root.write('sys/namespaces/team')
  await root.write('team/sys/mounts/practice', { type: 'practice' })
  await root.write('team/practice/notes/a', { text: 'x' })
  await root.read('team/practice/creds/ci')
  expect(provider.alive.size).toBe(1)

  await root.delete('sys/namespaces/team')
  await server.until('sys/namespaces/team', ({ status }) => status === 404)

  expect(provider.alive.size).toBe(0)
  expect((await root.read('team/practice/notes/a')).status).toBe(404)
  expect((await root.read('/metrics')).text).not.toContain('team/practice')
})

test('a mount of it can be a default mount of a new store', async () => {
  const plugins = [practiceType({ roles: new Map() })]
  await using server = await startTestServer({ plugins, settings: { DEFAULT_MOUNTS: 'own=practice' } })

  expect((await server.root.read('sys/mounts/own')).body.data?.type).toBe('practice')
})

test('two mount types with one name are refused at the start', async () => {
  const plugins = [practiceType({ roles: new Map() }), practiceType({ roles: new Map() })]

  await expect(startTestServer({ plugins })).rejects.toThrow('mount type practice is declared twice')
})
