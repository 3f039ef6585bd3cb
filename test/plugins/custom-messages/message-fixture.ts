import type { CallOptions } from '../../support/client.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { startTestServer, type TestServer, type TestServerOptions } from '../../support/start-server.ts'

/** The collection's path, the current time, and the simplest message. */
export const messagesPath = 'sys/config/ui/custom-messages'
const midday = Date.parse('2024-06-01T12:00:00Z')
export const plain = { title: 't', message: 'SGVsbG8=', start_time: '2024-01-01T00:00:00Z' }

/** The plain message without one of its fields. */
export const without = (field: keyof typeof plain): object =>
  Object.fromEntries(Object.entries(plain).filter(([name]) => name !== field))

export type MessageFixture = TestServer & { clock: FakeClock }

export async function startMessageFixture(
  options: Omit<TestServerOptions, 'clock'> = {},
): Promise<MessageFixture> {
  const clock = new FakeClock(midday)
  return { ...(await startTestServer({ ...options, clock })), clock }
}

/** Creates a message; returns its id. */
export async function made(
  { root }: TestServer,
  fields: object = {},
  headers: CallOptions['headers'] = {},
): Promise<string> {
  const { body, text } = await root.write(messagesPath, { ...plain, ...fields }, { headers })
  if (body.data === undefined) throw new Error(text)
  return String(body.data['id'])
}

/** This many plain messages. */
export async function fill(
  fixture: TestServer,
  count: number,
  headers: CallOptions['headers'] = {},
): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, () => made(fixture, {}, headers)))
}

/** A client whose token has this capability on this path, and no other. */
export async function clientWith({ root, as }: TestServer, path: string, ...capabilities: string[]) {
  const name = `${capabilities.join('-')}-${Buffer.from(path).toString('hex')}`
  await root.write(`sys/policies/acl/${name}`, {
    policy: `path "${path}" { capabilities = ${JSON.stringify(capabilities)} }`,
  })
  const { body } = await root.write('auth/token/create', { policies: [name], no_default_policy: true })
  return as(String(body.auth?.['client_token']))
}
