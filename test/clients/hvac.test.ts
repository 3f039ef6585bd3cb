import { expect, test } from 'vitest'
import { type Answer, head, openWire, type Wire } from '../http/wire.ts'
import { errors } from '../support/error-bodies.ts'
import { startTestServer } from '../support/start-server.ts'

const manners = [
  'User-Agent: python-requests/2.34.2',
  'Accept-Encoding: gzip, deflate',
  'Accept: */*',
  'Connection: keep-alive',
  'X-Vault-Request: true',
]

/** Sends as hvac does, byte by byte: verbs of its own, `null` for what its caller left out, everything on one connection. */
class Hvac implements Disposable {
  readonly #wire: Wire
  readonly #headers: readonly string[]

  constructor(wire: Wire, headers: readonly string[]) {
    this.#wire = wire
    this.#headers = headers
  }

  async ask(verb: string, path: string, body?: string): Promise<Answer | undefined> {
    const type = body === undefined ? [] : ['Content-Type: application/json']
    this.#wire.send(head(verb, path, [...manners, ...this.#headers, ...type], body))
    return await this.#wire.answer()
  }

  [Symbol.dispose](): void {
    this.#wire.close()
  }
}

async function anHvac(url: string, headers: readonly string[] = []): Promise<Hvac> {
  return new Hvac(await openWire(url), ['X-Vault-Token: root', ...headers])
}

const parsed = (answer: Answer | undefined): unknown => JSON.parse(answer?.body ?? '')

test('hvac asks for a key-value store, which is not offered, and hears that', async () => {
  await using server = await startTestServer()
  using hvac = await anHvac(server.url)

  const answer = await hvac.ask(
    'POST',
    '/v1/sys/mounts/secret',
    '{"type": "kv", "description": null, "config": null, "options": {"version": 2}, "plugin_name": null, "local": false, "seal_wrap": false}',
  )

  expect(answer?.status).toBe(400)
  expect(parsed(answer)).toEqual(errors('plugin not found in the catalog: kv'))
})

test('hvac works in a namespace with letters that are no ASCII, and every answer names it as it was sent', async () => {
  await using server = await startTestServer()
  await server.root.write('sys/namespaces/%C3%BC')
  // what is on the wire is UTF-8, and a wire is read and written byte by byte
  const sent = Buffer.from('ü/').toString('latin1')
  using hvac = await anHvac(server.url, [`X-Vault-Namespace: ${sent}`])

  const answers = {
    'a read': await hvac.ask('GET', '/v1/auth/token/lookup-self'),
    'a read with a body': await hvac.ask('GET', '/v1/auth/token/lookup-self', '{"token": "x"}'),
    'a list': await hvac.ask('LIST', '/v1/sys/policies/acl'),
    'a write': await hvac.ask('POST', '/v1/auth/token/create', '{"policies": ["default"], "no_parent": false, "display_name": "token"}'),
    'a write of nothing': await hvac.ask('PUT', '/v1/sys/policy/web', '{"policy": "path \\"a\\" {}"}'),
    'a deletion': await hvac.ask('DELETE', '/v1/sys/policy/web'),
    'the state of the node': await hvac.ask('GET', '/v1/sys/seal-status'),
    messages: await hvac.ask('GET', '/v1/sys/internal/ui/unauthenticated-messages'),
    'what is not there': await hvac.ask('GET', '/v1/secret/x'),
    'what is refused': await hvac.ask('POST', '/v1/sys/wrapping/wrap', '{'),
  }

  const told = Object.entries(answers).map(([what, answer]) => [what, answer?.status, answer?.headers['x-vault-namespace']])
  expect(told).toEqual([
    ['a read', 200, sent],
    ['a read with a body', 200, sent],
    ['a list', 200, sent],
    ['a write', 200, sent],
    ['a write of nothing', 204, sent],
    ['a deletion', 204, sent],
    ['the state of the node', 200, sent],
    ['messages', 200, sent],
    ['what is not there', 404, sent],
    ['what is refused', 400, sent],
  ])
  expect(parsed(answers['a list'])).toMatchObject({ data: { keys: ['default'] } })
})
