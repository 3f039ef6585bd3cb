import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { rootNamespace } from '../../src/core/namespaces/namespace.ts'
import { CommonHeaders } from '../../src/http/common-headers.ts'
import type { WrittenReply } from '../../src/http/envelope.ts'
import { PreparedAnswers, writePrepared } from '../../src/http/prepared-answers.ts'
import { systemRandom } from '../../src/lib/random.ts'
import { type Answer, Client } from '../support/client.ts'
import { startTestServer, type TestServer } from '../support/start-server.ts'

const path = 'sys/internal/ui/unauthenticated-messages'
const child = { ...rootNamespace, id: 'child1', path: 'child/' }

/** A server that responds `usual` if no response is prepared. */
async function aReader(
  reply: WrittenReply | undefined,
  { isSealed = false, address = 'x' as unknown, isLive = true, isTainted = false } = {},
) {
  const prepared = new PreparedAnswers(
    {
      common: new CommonHeaders(),
      resolve: () => ({ mount: { type: 'system', tainted: isTainted } }),
      namespaces: {
        resolve: (header, asked) => {
          if (header === 'nowhere') return undefined
          const namespace = header === 'child' ? child : rootNamespace
          return { namespace, taken: asked.startsWith('child/') ? 6 : 0 }
        },
        isLive: () => isLive,
        lockRefusal: () => undefined,
      },
      clientAddress: () => address,
      random: systemRandom,
      isSealed: () => isSealed,
    },
    { ofMounts: [{ path, label: 'ready', find: () => reply }], ofNode: [] },
  )
  const server = createServer((request, response) => {
    const found = prepared.find(request)
    if (found === undefined) response.end('usual')
    else writePrepared(response, found)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    client: new Client(`http://127.0.0.1:${port}`),
    [Symbol.asyncDispose]: async () => {
      server.close()
      await once(server, 'close')
    },
  }
}

const reply: WrittenReply = { dataText: '{"a":"é"}', headers: { etag: '"t"', vary: 'X' } }

describe('an answer that lies ready', () => {
  test.each([
    { name: 'a plain read', ask: (client: Client) => client.read(path) },
    { name: 'without /v1', ask: (client: Client) => client.read(`/${path}`) },
    { name: 'with a token', ask: (client: Client) => client.with('t').read(path) },
    {
      name: 'in a namespace',
      ask: (client: Client) => client.read(path, { headers: { 'X-Vault-Namespace': 'child' } }),
    },
    {
      name: 'with another tag',
      ask: (client: Client) => client.read(path, { headers: { 'If-None-Match': '"u"' } }),
    },
  ])('is sent: $name', async ({ ask }) => {
    await using reader = await aReader(reply)

    const answer = await ask(reader.client)

    expect(answer.body).toMatchObject({
      data: { a: 'é' },
      request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      mount_type: 'system',
    })
    expect(answer.headers).toMatchObject({ etag: '"t"', vary: 'X', 'content-type': 'application/json' })
  })

  test.each([
    { name: 'a query', ask: (client: Client) => client.read(`${path}?wait=1s`) },
    { name: 'a slash at the end', ask: (client: Client) => client.read(`${path}/`) },
    { name: 'another path', ask: (client: Client) => client.read(`${path}x`) },
    { name: 'another spelling', ask: (client: Client) => client.read(path.replace('ui', '%75i')) },
    { name: 'a namespace in the path', ask: (client: Client) => client.read(`child/${path}`) },
    {
      name: 'a namespace that is not there',
      ask: (client: Client) => client.read(path, { headers: { 'X-Vault-Namespace': 'nowhere' } }),
    },
    { name: 'another verb', ask: (client: Client) => client.delete(path) },
    { name: 'a body', ask: (client: Client) => client.call('GET', path, {}) },
    {
      name: 'another origin',
      ask: (client: Client) => client.read(path, { headers: { Origin: 'https://a.example' } }),
    },
    {
      name: 'a wish to have it wrapped',
      ask: (client: Client) => client.read(path, { headers: { 'X-Vault-Wrap-TTL': '60' } }),
    },
    {
      name: 'a second factor',
      ask: (client: Client) => client.read(path, { headers: { 'X-Vault-MFA': 'x' } }),
    },
  ])('is left to the usual way: $name', async ({ ask }) => {
    await using reader = await aReader(reply)

    expect((await ask(reader.client)).text).toBe('usual')
  })

  test.each([
    { name: 'sealed', state: { isSealed: true } },
    { name: 'an address that is not accepted', state: { address: { kind: 'refusal' } } },
    { name: 'a namespace that is on its way out', state: { isLive: false } },
    { name: 'a mount that is on its way out', state: { isTainted: true } },
  ])('is left to the usual way: $name', async ({ state }) => {
    await using reader = await aReader(reply, state)

    expect((await reader.client.read(path, { headers: { 'X-Vault-Namespace': 'child' } })).text).toBe('usual')
  })

  test('is left to the usual way where none is ready', async () => {
    await using reader = await aReader(undefined)

    expect((await reader.client.read(path)).text).toBe('usual')
  })
})

describe('both ways', () => {
  let ready: TestServer
  let usual: TestServer
  const setUp = async (settings: Record<string, string>) => {
    const server = await startTestServer({ settings })
    await server.root.write('sys/namespaces/a', {})
    await server.root.write('sys/namespaces/%C3%A9', {})
    const message = {
      title: 'é “x” \u2028',
      message: 'w6k=',
      start_time: 0,
      end_time: '2999-01-01T00:00:00Z',
      authenticated: false,
      options: { n: 1.5 },
    }
    await server.root.write('sys/config/ui/custom-messages', message)
    return server
  }
  beforeAll(async () => {
    ready = await setUp({})
    // with an access log, each request must be logged
    usual = await setUp({ ACCESS_LOG: 'true' })
  })
  afterAll(async () => {
    await ready[Symbol.asyncDispose]()
    await usual[Symbol.asyncDispose]()
  })

  /**
   * The parts that must be equal: everything except ids, the time, and the effect of a message id's length on
   * its tag.
   */
  const comparable = ({ status, headers, text }: Answer) => {
    const { date: _date, etag, 'x-gatehouse-request-id': id, ...rest } = headers
    const ids = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g
    return { status, headers: { ...rest, etag: typeof etag, id: typeof id }, text: text.replace(ids, 'id') }
  }

  test.each<{ name: string; headers: Record<string, string> }>([
    { name: 'plain', headers: {} },
    { name: 'of a namespace', headers: { 'X-Vault-Namespace': 'a' } },
    { name: 'of the root by name', headers: { 'X-Vault-Namespace': 'root' } },
    { name: 'with an empty namespace', headers: { 'X-Vault-Namespace': '' } },
    { name: 'of no namespace', headers: { 'X-Vault-Namespace': 'nowhere' } },
    { name: 'unchanged', headers: { 'If-None-Match': '*' } },
    { name: 'unchanged, of a namespace', headers: { 'If-None-Match': '*', 'X-Vault-Namespace': 'a/' } },
    { name: 'with the last word', headers: { Connection: 'close' } },
    { name: 'that goes on', headers: { Connection: 'keep-alive' } },
  ])('answer the same: $name', async ({ headers }) => {
    const options = { headers }

    // the first request prepares it
    await ready.anonymous.read(path, options)

    expect(comparable(await ready.anonymous.read(path, options))).toEqual(
      comparable(await usual.anonymous.read(path, options)),
    )
  })

  test.each<{ name: string; path?: string; verb?: string; headers: Record<string, string> }>([
    { name: 'plain', headers: {} },
    { name: 'without /v1', path: '/sys/health', headers: {} },
    { name: 'HEAD', verb: 'HEAD', headers: {} },
    { name: 'another verb', verb: 'DELETE', headers: {} },
    { name: 'with codes', path: 'sys/health?activecode=299', headers: {} },
    { name: 'of a namespace', headers: { 'X-Vault-Namespace': 'a' } },
    { name: 'with an empty namespace', headers: { 'X-Vault-Namespace': '' } },
    { name: 'for a page of another origin', headers: { Origin: 'https://a.example' } },
    { name: 'with the last word', headers: { Connection: 'close' } },
  ])('report the same health: $name', async ({ path: asked = 'sys/health', verb = 'GET', headers }) => {
    const health = async ({ anonymous }: TestServer) => {
      const answer = comparable(await anonymous.call(verb, asked, undefined, { headers }))
      const text = answer.text.replace(/"server_time_utc":\d+|"cluster_name":"[^"]+"/g, '""')
      return { ...answer, text }
    }

    // the first request prepares it
    await ready.anonymous.read('sys/health')

    expect(await health(ready)).toEqual(await health(usual))
  })

  test('health is not prepared once the server is sealed', async () => {
    await using server = await startTestServer()
    expect((await server.anonymous.read('sys/health')).status).toBe(200)
    expect((await server.anonymous.read('sys/health')).status).toBe(200)

    await server.root.write('sys/seal')

    expect((await server.anonymous.read('sys/health')).status).toBe(503)
  })

  test('requests that come at once are answered in their order', async () => {
    await ready.anonymous.read(path)
    const get = (what: string, more = '') => `GET /v1/${what} HTTP/1.1\r\nHost: x\r\n${more}\r\n`
    const requests = [
      get('sys/seal-status'),
      get(path),
      get(path, 'If-None-Match: *\r\n'),
      get('sys/nothing'),
      get(path, 'Connection: close\r\n'),
    ]
    const statuses = [200, 200, 304, 403, 200]

    const { hostname, port } = new URL(ready.url)
    const socket = connect(Number(port), hostname)
    socket.write(requests.join(''))
    let text = ''
    for await (const chunk of socket) text += String(chunk)

    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(statuses.map((status) => `HTTP/1.1 ${status}`))
  })

  describe('a request that its connection repeats', () => {
    const masked = (text: string) =>
      text
        .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'id')
        .replace(/Date: [^\r]+GMT\r/, 'Date: now\r')
        .replace(/"server_time_utc":\d+/, '"server_time_utc":0')
        // their order differs if the first of them was not prepared
        .split('\r\n')
        .toSorted()

    /** What the server sends for each request, the next one being sent when the response has arrived. */
    async function responsesTo({ url }: TestServer, requests: readonly string[]): Promise<string[]> {
      const { hostname, port } = new URL(url)
      const socket = connect(Number(port), hostname)
      const texts: string[] = []
      for (const request of requests) {
        socket.write(Buffer.from(request, 'latin1'))
        let text = ''
        while (!isWhole(text))
          text += (await once(socket, 'data')).map((part: Buffer) => part.toString('latin1'))
        texts.push(text)
      }
      socket.destroy()
      return texts
    }

    function isWhole(text: string): boolean {
      const end = text.indexOf('\r\n\r\n') + 4
      const length = /\r\ncontent-length: (\d+)\r/i.exec(text)?.[1]
      return end > 3 && text.length >= end + Number(length ?? 0)
    }

    const asked = (what: string, ...more: string[]) =>
      [`GET /v1/${what} HTTP/1.1`, 'Host: x', ...more, '', ''].join('\r\n')

    test.each<{ name: string; request: string; status: number }>([
      { name: 'health', request: asked('sys/health'), status: 200 },
      { name: 'messages', request: asked(path), status: 200 },
      { name: 'messages of a namespace', request: asked(path, 'X-Vault-Namespace: a'), status: 200 },
      { name: 'unchanged messages', request: asked(path, 'If-None-Match: *'), status: 304 },
      {
        name: 'messages of a namespace beyond ASCII',
        request: asked(path, 'X-Vault-Namespace: Ã©'),
        status: 200,
      },
      {
        name: 'unchanged messages of a namespace beyond ASCII',
        request: asked(path, 'X-Vault-Namespace: Ã©', 'If-None-Match: *'),
        status: 304,
      },
      { name: 'with a token', request: asked('sys/health', 'X-Vault-Token: x'), status: 200 },
      { name: 'to go on', request: asked('sys/health', 'Connection: keep-alive'), status: 200 },
    ])('gets the same bytes: $name', async ({ request, status }) => {
      const [first = '', ...others] = await responsesTo(
        ready,
        Array.from({ length: 4 }, () => request),
      )

      expect(first).toMatch(new RegExp(`^HTTP/1.1 ${status} `))
      expect(others.map(masked)).toEqual(others.map(() => masked(first)))
      const ids = [first, ...others].map((text) => /x-gatehouse-request-id: (\S+)/.exec(text)?.[1])
      expect(new Set(ids).size).toBe(4)
    })

    test('gets the interim response that it expects', async () => {
      const { hostname, port } = new URL(ready.url)
      const socket = connect(Number(port), hostname)
      const statuses = async () => {
        socket.write(asked('sys/health', 'Expect: 100-continue'))
        let text = ''
        while (!/ 200 .*\}\n$/s.test(text)) text += String((await once(socket, 'data'))[0])
        return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)
      }

      expect([await statuses(), await statuses()]).toEqual([
        ['100', '200'],
        ['100', '200'],
      ])
      socket.destroy()
    })

    test('between others gets its own response', async () => {
      const health = asked('sys/health')
      const requests = [health, health, asked('sys/seal-status'), health, asked('sys/nothing'), health]

      const texts = await responsesTo(ready, requests)

      expect(texts.map((text) => Number(text.slice(9, 12)))).toEqual([200, 200, 200, 200, 403, 200])
      expect(texts.map((text) => text.includes('"server_time_utc"'))).toEqual(
        requests.map((request) => request === health),
      )
    })

    test('is counted', async () => {
      const counted = async () => {
        const { text } = await ready.root.read('/v1/sys/metrics?format=prometheus')
        const lines = text.split('\n').filter((line) => line.startsWith('gatehouse_http_requests_total{'))
        const line = lines.find((one) => one.includes('route="/sys/health"')) ?? ''
        return Number(line.split(' ').at(-1))
      }
      await responsesTo(ready, [asked('sys/health')])
      const before = await counted()

      await responsesTo(ready, [asked('sys/health'), asked('sys/health'), asked('sys/health')])

      expect(await counted()).toBe(before + 3)
    })

    test('is answered before a client that ends its side is left', async () => {
      const { hostname, port } = new URL(ready.url)
      const socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
      socket.write(asked('sys/health'))
      await once(socket, 'data')

      socket.end(asked('sys/health'))
      let text = ''
      for await (const chunk of socket) text += String(chunk)

      expect(text).toMatch(/^HTTP\/1.1 200 /)
    })

    test('learns at once that the server is sealed', async () => {
      await using server = await startTestServer()
      const { hostname, port } = new URL(server.url)
      const socket = connect(Number(port), hostname)
      const status = async () => {
        socket.write(asked('sys/health'))
        const [text] = await once(socket, 'data')
        return Number(String(text).slice(9, 12))
      }
      const before = [await status(), await status()]

      await server.root.write('sys/seal')

      expect([...before, await status()]).toEqual([200, 200, 503])
      socket.destroy()
    })
  })
})
