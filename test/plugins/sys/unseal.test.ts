import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Client } from '../../support/client.ts'
import { errors } from '../../support/error-bodies.ts'
import { startTestServer, type TestServer } from '../../support/start-server.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** A durable server with a static seal whose key the test knows. */
async function openSealable(): Promise<TestServer & { readonly key: Buffer }> {
  await using opened = new AsyncDisposableStack()
  const folder = opened.use(await temporaryFolder())
  const key = randomBytes(32)
  const settings = { STORAGE: `sqlite:${folder.file('gatehouse.db')}`, SEAL_KEY: key.toString('hex') }
  const server = opened.use(await startTestServer({ settings }))
  const held = opened.move()
  return { ...server, key, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

const seal = async (root: Client) => expect((await root.call('PUT', 'sys/seal')).status).toBe(204)
const unseal = (client: Client, key: string) => client.call('PUT', 'sys/unseal', { key })

test('a server with a static seal is unsealed with its key, in hex or base64, and continues', async () => {
  await using server = await openSealable()
  const { root, anonymous, key } = server
  await root.write('auth/jwt/role/ci', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'a' })
  const { body } = await root.write('auth/token/create', { policies: ['default'], ttl: '1h' })
  const user = server.as(String(body['auth']?.['client_token']))

  for (const encoding of ['hex', 'base64'] as const) {
    await seal(root)
    expect(await anonymous.read('sys/seal-status')).toMatchObject({ body: { sealed: true, t: 0, n: 0 } })
    expect(await root.read('auth/jwt/role/ci')).toMatchObject({
      status: 503,
      body: errors('Vault is sealed'),
    })

    expect(await unseal(anonymous, key.toString(encoding))).toMatchObject({
      status: 200,
      body: { sealed: false, progress: 0, type: 'static', cluster_id: expect.any(String) },
    })

    expect(await user.read('auth/token/lookup-self')).toMatchObject({ status: 200 })
    expect(await root.read('auth/jwt/role/ci')).toMatchObject({ body: { data: { bound_subject: 'a' } } })
    expect(await anonymous.call('GET', '/health/ready')).toMatchObject({ status: 200 })
  }
})

test('a wrong key leaves the server sealed', async () => {
  await using server = await openSealable()
  await seal(server.root)

  const answer = await unseal(server.anonymous, randomBytes(32).toString('hex'))

  expect(answer.status).toBe(400)
  expect(String(answer.body['errors']?.[0])).toMatch(/^unable to retrieve stored keys: invalid key:/)
  expect(await server.root.read('sys/mounts')).toMatchObject({ status: 503 })
})

test('nothing that was cached before a seal is served after it', async () => {
  await using server = await openSealable()
  const { root, anonymous, key } = server
  const message = {
    title: 'hello',
    message: 'aGVsbG8=',
    authenticated: false,
    start_time: '2020-01-01T00:00:00Z',
  }
  await root.write('sys/config/ui/custom-messages', message)
  const path = 'sys/internal/ui/unauthenticated-messages'
  expect(await anonymous.read(path)).toMatchObject({ status: 200 })
  expect(await anonymous.read(path)).toMatchObject({ status: 200 })

  await seal(root)
  expect(await anonymous.read(path)).toMatchObject({ status: 503, body: errors('Vault is sealed') })

  await unseal(anonymous, key.toString('hex'))
  expect(await anonymous.read(path)).toMatchObject({
    status: 200,
    body: { data: { keys: [expect.any(String)] } },
  })
})

test('of several unseals at once each finds an open server, and sealing twice changes nothing', async () => {
  await using server = await openSealable()
  const { root, anonymous, key } = server
  await seal(root)
  await seal(root)

  const answers = await Promise.all(Array.from({ length: 8 }, () => unseal(anonymous, key.toString('hex'))))

  expect(answers.map(({ status, body }) => [status, body['sealed']])).toEqual(
    Array.from({ length: 8 }, () => [200, false]),
  )
})

test('writes and reads during seals and unseals succeed or find the server sealed, and none is lost', async () => {
  await using server = await openSealable()
  const { root, anonymous, key } = server
  const written: string[] = []
  const statuses = new Set<number>()
  let isOver = false
  const write = async (worker: number) => {
    for (let i = 0; !isOver; i++) {
      const name = `r${worker}-${i}`
      const { status } = await root.write(`auth/jwt/role/${name}`, {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_subject: 'a',
      })
      statuses.add(status)
      if (status === 204) written.push(name)
    }
  }
  const workers = [1, 2, 3, 4].map(write)

  for (let round = 0; round < 10; round++) {
    const before = written.length
    while (written.length < before + 5) await anonymous.read('sys/health')
    await seal(root)
    expect(await unseal(anonymous, key.toString('hex'))).toMatchObject({
      status: 200,
      body: { sealed: false },
    })
  }
  isOver = true
  await Promise.all(workers)

  expect([...statuses].filter((status) => status !== 204 && status !== 503)).toEqual([])
  const { body } = await root.list('auth/jwt/role')
  expect(new Set(body['data']?.['keys'] as unknown as string[])).toEqual(new Set(written))
})

test('a seal ends requests that wait, and metrics of the store are shown again after an unseal', async () => {
  await using server = await openSealable()
  const { root, anonymous, key } = server
  const gauge = async (name: string) => {
    const { text } = await anonymous.read('sys/metrics?format=prometheus', {
      headers: { 'X-Vault-Token': 'root' },
    })
    return new RegExp(`^gatehouse_${name} (.*)$`, 'm').exec(text)?.[1]
  }
  expect(await gauge('barrier_term')).toBe('1')
  await seal(root)
  await unseal(anonymous, key.toString('hex'))

  expect(await gauge('barrier_term')).toBe('1')
  expect(await gauge('sealed')).toBe('0')
})

test.each(['AUTO_INIT=false', 'SEAL=shamir'])(
  'a development server refuses %s, as it unseals itself',
  async (setting) => {
    const [name = '', value = ''] = setting.split('=')

    await expect(startTestServer({ settings: { [name]: value } })).rejects.toThrow(
      `GATEHOUSE_${name}: npm run dev initializes and unseals itself`,
    )
  },
)
