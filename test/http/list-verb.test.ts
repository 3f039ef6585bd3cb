import { once } from 'node:events'
import { createServer, METHODS, type RequestListener, type ServerResponse } from 'node:http'
import { setImmediate as nextTurn } from 'node:timers/promises'
import fc from 'fast-check'
import Fastify from 'fastify'
import { describe, expect, test } from 'vitest'
import { Connections, noLimits } from '../../src/http/wire/connections.ts'
import { connectionOptions, createListServer } from '../../src/http/wire/list-verb.ts'
import { type Answer, chunked, echo, head, listen, type Seen, seenIn, WireServer } from './wire.ts'

const seen = (method: string, url: string, body = ''): Seen => ({ method, url, body })

/**
 * The response to a request that reaches no handler: docs/contract/http.md#headers,
 * docs/decisions/0001-list-verb.md.
 */
function expectRaw(answer: Answer | undefined, status: number): void {
  expect(answer).toMatchObject({
    status,
    body: '{"errors":[]}\n',
    headers: {
      'content-type': 'application/json',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000; includeSubDomains',
      connection: 'close',
    },
  })
}

describe('verbs', () => {
  const native = METHODS.filter((method) => method !== 'HEAD')
  const unknown = [
    'LIST',
    'HELP',
    'SCAN',
    'FOO',
    'list',
    'List',
    'LISTS',
    'LIS',
    'L',
    'get',
    'Get',
    'PROPX',
    'UNLIST',
    'GETT',
    'DESCRIBE',
    'PLAY',
  ]
  const odd = ["!#$%&'*+-.^_`|~09", 'A'.repeat(32), 'PRIX', '-', 'constructor', '__proto__']

  test.each([...native, ...unknown, ...odd])(
    '%s reaches the handler as sent, with its body, and the next request follows',
    async (method) => {
      await using server = await listen()
      const wire = await server.open()

      wire.send(head(method, '/a?b=c'))
      wire.send(head(method, '/d', [], 'body'))
      wire.send(chunked(method, '/e', ['bo', 'dy']))
      wire.send(head('GET', '/f'))

      expect(seenIn(await wire.answers(4))).toEqual([
        seen(method, '/a?b=c'),
        seen(method, '/d', 'body'),
        seen(method, '/e', 'body'),
        seen('GET', '/f'),
      ])
    },
  )

  test('HEAD leaves no body on the connection', async () => {
    await using server = await listen({}, (request, response) => {
      if (request.method === 'HEAD') response.writeHead(200, { 'Content-Length': '0' }).end('never sent')
      else echo(request, response)
    })
    const wire = await server.open()

    wire.send(head('HEAD', '/a') + head('LIST', '/b'))
    const [first, second] = await wire.answers(2)

    expect(first).toMatchObject({ status: 200, body: '' })
    expect(seenIn(second === undefined ? [] : [second])).toEqual([seen('LIST', '/b')])
  })

  test.each([
    { name: 'a token of 33 bytes', token: 'A'.repeat(33), status: 400 },
    { name: 'a byte that no token has', token: 'GE(T', status: 400 },
    { name: 'a byte above ASCII', token: 'G\xc3\xa9T', status: 400 },
    { name: 'no token', token: '', status: 400 },
    { name: 'a tab behind the token', token: 'GET\t', status: 400 },
    { name: 'a NUL byte', token: 'LI\0ST', status: 400 },
    { name: 'the first word of HTTP/2', token: 'PRI', status: 405 },
  ])('$name is refused and the connection closed', async ({ token, status }) => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(head(token, '/a') + head('GET', '/never'))
    const answers = await wire.untilClosed()

    expect(answers).toHaveLength(1)
    expectRaw(answers[0], status)
  })

  test('a token that never ends is refused without waiting for its end', async () => {
    await using server = await listen()
    const wire = await server.open()

    await wire.sendApart(Array.from({ length: 33 }, () => 'L'))

    expectRaw(await wire.answer(), 400)
  })
})

describe('one connection', () => {
  test('stays open through any mix of verbs', async () => {
    await using server = await listen()
    const wire = await server.open()
    const requests = [
      'GET',
      'LIST',
      'POST',
      'LIST',
      'LIST',
      'HELP',
      'PUT',
      'DELETE',
      'FOO',
      'SEARCH',
      'REPORT',
      'GET',
    ].map((method, index) => ({ method, url: `/${index}`, body: index % 3 === 1 ? `body ${index}` : '' }))

    for (const { method, url, body } of [...requests, ...requests]) {
      wire.send(head(method, url, [], body === '' ? undefined : body))
      expect(seenIn(await wire.answers(1))).toEqual([{ method, url, body }])
    }
  })

  const conversation =
    '\r\n' +
    head('LIST', '/a') +
    head('POST', '/b', [], 'LIST /x HTTP/1.1\r\n\r\n') +
    chunked('HELP', '/c', ['LIST /', '\r\n\r\n', '0\r\n\r\n'], ['X-T: 1']) +
    head('GET', '/d')
  const expected = [
    seen('LIST', '/a'),
    seen('POST', '/b', 'LIST /x HTTP/1.1\r\n\r\n'),
    seen('HELP', '/c', 'LIST /\r\n\r\n0\r\n\r\n'),
    seen('GET', '/d'),
  ]

  test('yields the same requests when split at any byte', async () => {
    await using server = await listen()
    for (let cut = 1; cut < conversation.length; cut++) {
      const wire = await server.open()
      await wire.sendApart([conversation.slice(0, cut), conversation.slice(cut)])
      expect(seenIn(await wire.answers(4)), `cut at ${cut}`).toEqual(expected)
      wire.close()
    }
  })

  test('yields the same requests when read byte by byte', async () => {
    await using server = await listen()
    const wire = await server.open()

    await wire.sendApart([...conversation])

    expect(seenIn(await wire.answers(4))).toEqual(expected)
  })

  test('answers pipelined requests in order, even if the first one is slow', async () => {
    const release = Promise.withResolvers<void>()
    await using server = await listen({}, async (request, response) => {
      if (request.url === '/slow') await release.promise
      else release.resolve()
      await echo(request, response)
    })
    const wire = await server.open()

    wire.send(
      head('GET', '/slow') +
        head('LIST', '/b') +
        head('POST', '/c', [], 'LIST /d HTTP/1.1\r\nHost: x\r\n\r\n') +
        head('SCAN', '/e'),
    )

    expect(seenIn(await wire.answers(4)).map(({ method, url }) => `${method} ${url}`)).toEqual([
      'GET /slow',
      'LIST /b',
      'POST /c',
      'SCAN /e',
    ])
  })

  test.each([
    ['POST', 'GET'],
    ['GET', 'POST'],
    ['PUT', 'PATCH'],
    ['DELETE', 'LIST'],
  ])('a %s and a pipelined %s run one after the other', async (first, second) => {
    const events: string[] = []
    await using server = await listen({}, async (request, response) => {
      events.push(`begin ${request.url}`)
      await nextTurn()
      events.push(`end ${request.url}`)
      response.end()
    })
    const wire = await server.open()

    wire.send(head(first, '/a') + head(second, '/b') + head(first, '/c'))
    await wire.answers(3)

    expect(events).toEqual(['begin /a', 'end /a', 'begin /b', 'end /b', 'begin /c', 'end /c'])
  })

  test.each(['UN', 'PRO', '\nUN', '\r\n', 'M-', 'LIST ', 'GET /'])(
    'a body that ends in %j keeps its bytes before a pipelined verb',
    async (body) => {
      await using server = await listen()
      const wire = await server.open()

      wire.send(
        head('POST', '/a', [], body) +
          head('LIST', '/b') +
          chunked('PUT', '/c', [body]) +
          head('PATCHX', '/d'),
      )

      expect(seenIn(await wire.answers(4))).toEqual([
        seen('POST', '/a', body),
        seen('LIST', '/b'),
        seen('PUT', '/c', body),
        seen('PATCHX', '/d'),
      ])
    },
  )

  test('pipelined requests wait until the client has received their large responses', async () => {
    await using server = await listen({}, (request, response) =>
      response.end(`${request.method}${'x'.repeat(20_000)}`),
    )
    const wire = await server.open()

    wire.send(
      Array.from({ length: 400 }, (_, index) => head(index % 2 === 0 ? 'LIST' : 'GET', '/a')).join(''),
    )
    const answers = await wire.answers(400)

    expect(answers.map(({ body }) => body.slice(0, 3))).toEqual(
      Array.from({ length: 400 }, (_, index) => (index % 2 === 0 ? 'LIS' : 'GET')),
    )
  })

  test('a client that half-closes after its requests still gets every response', async () => {
    await using server = await listen({}, (request, response) =>
      response.end(`${request.method}${'x'.repeat(20_000)}`),
    )
    const wire = await server.open()

    wire.send(Array.from({ length: 200 }, () => head('LIST', '/a')).join(''))
    wire.end()

    expect((await wire.untilClosed()).map(({ body }) => body.length)).toEqual(
      Array.from({ length: 200 }, () => 20_004),
    )
  })

  test('a client that half-closes gets a delayed response, and then the connection is closed', async () => {
    const asked = Promise.withResolvers<ServerResponse>()
    await using server = await listen({}, (_request, response) => asked.resolve(response))
    const wire = await server.open()
    wire.send(head('GET', '/a'))
    wire.end()
    const response = await asked.promise
    await once(response.req.socket, 'end')

    response.end('later')

    expect((await wire.untilClosed()).map(({ body }) => body)).toEqual(['later'])
  })

  test('a client that half-closes in the middle of a body is refused', async () => {
    await using server = await listen()
    const wire = await server.open()
    wire.send(`${head('POST', '/a', ['Content-Length: 9'])}half`)
    wire.end()

    expect((await wire.untilClosed()).map(({ status }) => status)).toEqual([400])
  })

  test('a body the handler does not read is skipped', async () => {
    await using server = await listen({}, (request, response) => {
      response.end(JSON.stringify(seen(request.method ?? '', request.url ?? '')))
    })
    const wire = await server.open()

    wire.send(
      head('LIST', '/a', [], head('GET', '/inner')) +
        chunked('DELETE', '/b', [head('GET', '/inner'), '\r\n\r\n']) +
        head('LIST', '/c'),
    )

    expect(seenIn(await wire.answers(3))).toEqual([
      seen('LIST', '/a'),
      seen('DELETE', '/b'),
      seen('LIST', '/c'),
    ])
  })

  test('a body of several MiB is accepted, with a length and in chunks', async () => {
    await using server = await listen({}, async (request, response) => {
      let length = 0
      for await (const part of request) length += part.length
      response.end(`${request.method} ${length}`)
    })
    const wire = await server.open()
    const body = 'LIST / HTTP/1.1\r\n\r\n'.repeat(150_000)

    wire.send(head('POST', '/a', [], body) + chunked('SCAN', '/b', [body, body]) + head('LIST', '/c'))

    expect((await wire.answers(3)).map((answer) => answer.body)).toEqual([
      `POST ${body.length}`,
      `SCAN ${2 * body.length}`,
      'LIST 0',
    ])
  })

  test('Expect: 100-continue is answered with 100 and then served', async () => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(head('LIST', '/a', ['Expect: 100-continue', 'Content-Length: 4']))
    const first = await wire.answer()
    wire.send(`body${head('GET', '/b')}`)

    expect(first?.status).toBe(100)
    expect(seenIn(await wire.answers(2))).toEqual([seen('LIST', '/a', 'body'), seen('GET', '/b')])
  })

  test('another expectation is refused', async () => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(head('LIST', '/a', ['Expect: miracles', 'Content-Length: 4']))

    expectRaw(await wire.answer(), 417)
    expect(await wire.untilClosed()).toEqual([])
  })

  test.each(['GET', 'LIST', 'FOO'])('%s takes an absolute-form target', async (method) => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(head(method, 'http://gate/v1/a?b'))

    expect(seenIn(await wire.answers(1))).toEqual([seen(method, 'http://gate/v1/a?b')])
  })

  test('an unsolicited Upgrade is an ordinary request', async () => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(head('GET', '/a', ['Connection: upgrade', 'Upgrade: h2c'], 'body') + head('LIST', '/b'))

    expect(seenIn(await wire.answers(2))).toEqual([seen('GET', '/a', 'body'), seen('LIST', '/b')])
  })

  test.each(['GET', 'LIST'])('HTTP/1.0 without Host works and closes: %s', async (method) => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(`${method} /a HTTP/1.0\r\n\r\n${head('GET', '/never')}`)

    expect(seenIn(await wire.untilClosed())).toEqual([seen(method, '/a')])
  })

  test('nothing is read after a request with Connection: close', async () => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(head('LIST', '/a', ['Connection: close']) + head('GET', '/never'))

    expect(seenIn(await wire.untilClosed())).toEqual([seen('LIST', '/a')])
  })
})

describe('malformed requests', () => {
  const body = '{"paths":"a"}'
  const inChunks = 'd\r\n{"paths":"a"}\r\n0\r\n\r\n'
  const raw = (...lines: string[]) => `${lines.join('\r\n')}\r\n\r\n`
  const post = (...lines: string[]) => raw('POST /a HTTP/1.1', 'Host: x', ...lines)

  test.each([
    {
      name: 'two lengths that differ',
      bytes: post('Content-Length: 13', 'Content-Length: 5') + body,
      status: 400,
    },
    { name: 'a length that is not a number', bytes: post('Content-Length: abc') + body, status: 400 },
    { name: 'a negative length', bytes: post('Content-Length: -1') + body, status: 400 },
    { name: 'a length with a sign', bytes: post('Content-Length: +13') + body, status: 400 },
    { name: 'a list of lengths', bytes: post('Content-Length: 13, 14') + body, status: 400 },
    { name: 'an endless length', bytes: post(`Content-Length: ${'9'.repeat(40)}`) + body, status: 400 },
    { name: 'an unknown coding', bytes: post('Transfer-Encoding: gzip') + body, status: 400 },
    { name: 'two codings', bytes: post('Transfer-Encoding: gzip, chunked') + inChunks, status: 400 },
    {
      name: 'two headers of codings',
      bytes: post('Transfer-Encoding: gzip', 'Transfer-Encoding: chunked') + inChunks,
      status: 400,
    },
    {
      name: 'chunked twice',
      bytes: post('Transfer-Encoding: chunked', 'Transfer-Encoding: chunked') + inChunks,
      status: 400,
    },
    { name: 'a misspelt coding', bytes: post('Transfer-Encoding: xchunked') + inChunks, status: 400 },
    { name: 'an empty coding', bytes: post('Transfer-Encoding:') + inChunks, status: 400 },
    {
      name: 'chunks in HTTP/1.0',
      bytes: `${raw('POST /a HTTP/1.0', 'Transfer-Encoding: chunked')}${inChunks}`,
      status: 400,
    },
    {
      name: 'length before chunks',
      bytes: post('Content-Length: 5', 'Transfer-Encoding: chunked') + inChunks,
      status: 400,
    },
    {
      name: 'length after chunks',
      bytes: post('Transfer-Encoding: chunked', 'Content-Length: 5') + inChunks,
      status: 400,
    },
    {
      name: 'the same on LIST',
      bytes: raw('LIST /a HTTP/1.1', 'Host: x', 'Transfer-Encoding: chunked', 'Content-Length: 5') + inChunks,
      status: 400,
    },
    {
      name: 'a chunk size that is not a number',
      bytes: `${post('Transfer-Encoding: chunked')}zz\r\n`,
      status: 400,
    },
    {
      name: 'a chunk longer than its size',
      bytes: `${post('Transfer-Encoding: chunked')}1\r\nab\r\n0\r\n\r\n`,
      status: 400,
    },
    {
      name: 'a chunk size that overflows',
      bytes: `${post('Transfer-Encoding: chunked')}${'f'.repeat(20)}\r\n`,
      status: 400,
    },
    {
      name: 'a chunk extension without end',
      bytes: `${post('Transfer-Encoding: chunked')}1;${'x'.repeat(20_000)}\r\na\r\n0\r\n\r\n`,
      status: 413,
    },
    {
      name: 'trailers over 32 KiB',
      bytes: `${post('Transfer-Encoding: chunked')}0\r\nX-A: ${'a'.repeat(33 * 1024)}\r\n\r\n`,
      status: 431,
    },
    {
      name: 'a bad header name among the trailers',
      bytes: `${post('Transfer-Encoding: chunked')}0\r\nBad Name: x\r\n\r\n`,
      status: 400,
    },
    { name: 'a blank in a header name', bytes: post('Bad Name: x'), status: 400 },
    { name: 'a blank before the colon', bytes: post('Content-Length : 5') + body, status: 400 },
    { name: 'a header without a colon', bytes: post('nonsense'), status: 400 },
    { name: 'a folded header', bytes: post('X-A: 1', ' 2: x'), status: 400 },
    { name: 'a NUL byte in a header', bytes: post('X-A: a\0b'), status: 400 },
    { name: 'a bare CR in a header', bytes: post('X-A: a\rb'), status: 400 },
    { name: 'lines without CR', bytes: 'GET /a HTTP/1.1\nHost: x\n\n', status: 400 },
    { name: 'one line without CR', bytes: 'LIST /a HTTP/1.1\nHost: x\r\n\r\n', status: 400 },
    { name: 'no Host', bytes: raw('GET /a HTTP/1.1'), status: 400 },
    { name: 'no Host on LIST', bytes: raw('LIST /a HTTP/1.1', 'X-A: b'), status: 400 },
    { name: 'two Hosts', bytes: raw('GET /a HTTP/1.1', 'Host: x', 'hOST: x'), status: 400 },
    { name: 'two Hosts in HTTP/1.0', bytes: raw('GET /a HTTP/1.0', 'Host: x', 'Host: y'), status: 400 },
    { name: 'HTTP/0.9', bytes: 'GET /a\r\n\r\n', status: 400 },
    { name: 'HTTP/2 spelt out', bytes: raw('LIST /a HTTP/2.0', 'Host: x'), status: 400 },
    { name: 'another protocol', bytes: raw('LIST /a ICE/1.0', 'Host: x'), status: 400 },
    {
      name: 'another protocol with its own verb',
      bytes: raw('DESCRIBE /a RTSP/1.0', 'Host: x'),
      status: 400,
    },
    { name: 'no target', bytes: raw('LIST HTTP/1.1', 'Host: x'), status: 400 },
    { name: 'a TLS hello', bytes: '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', status: 400 },
    { name: 'a head over 32 KiB', bytes: post(`X-A: ${'a'.repeat(32 * 1024)}`), status: 431 },
    {
      name: 'a head of LIST over 32 KiB',
      bytes: raw('LIST /a HTTP/1.1', 'Host: x', `X-A: ${'a'.repeat(32 * 1024)}`),
      status: 431,
    },
    {
      name: 'many headers over 32 KiB',
      bytes: post(...Array.from({ length: 100 }, (_, i) => `X-${i}: ${'a'.repeat(400)}`)),
      status: 431,
    },
    {
      name: 'more than 128 headers',
      bytes: post(...Array.from({ length: 128 }, (_, i) => `X-${i}: a`)),
      status: 431,
    },
    {
      name: 'a target over 32 KiB',
      bytes: raw(`LIST /${'a'.repeat(32 * 1024)} HTTP/1.1`, 'Host: x'),
      status: 431,
    },
  ])('$name: there is one response, and the rest is not parsed', async ({ bytes, status }) => {
    await using server = await listen()
    const wire = await server.open()

    wire.send(bytes + head('GET', '/never'))
    const answers = await wire.untilClosed()

    expect(answers).toHaveLength(1)
    expectRaw(answers[0], status)
  })

  test('heads just within the limits are accepted', async () => {
    await using server = await listen()
    const wire = await server.open()
    const target = `/${'a'.repeat(16 * 1024)}`

    wire.send(head('LIST', target, [`X-A: ${'a'.repeat(15 * 1024)}`]))
    wire.send(
      head(
        'GET',
        '/b',
        Array.from({ length: 127 }, (_, i) => `X-${i}: a`),
      ),
    )

    expect(seenIn(await wire.answers(2))).toEqual([seen('LIST', target), seen('GET', '/b')])
  })

  test('the refusal comes after the responses that precede it', async () => {
    const release = Promise.withResolvers<void>()
    await using server = await listen({}, async (request, response) => {
      await release.promise
      await echo(request, response)
    })
    const wire = await server.open()

    await wire.sendApart([`${head('GET', '/a')}${head('LIST', '/b')}GE(T /c HTTP/1.1\r\n\r\n`])
    release.resolve()
    const [first, second, third, ...rest] = await wire.untilClosed()

    expect([first, second].map((answer) => JSON.parse(answer?.body ?? ''))).toEqual([
      seen('GET', '/a'),
      seen('LIST', '/b'),
    ])
    expectRaw(third, 400)
    expect(rest).toEqual([])
  })

  test('a request that breaks while it waits in the queue is refused in its turn', async () => {
    const release = Promise.withResolvers<void>()
    await using server = await listen({}, async (request, response) => {
      if (request.url === '/slow') await release.promise
      await echo(request, response)
    })
    const wire = await server.open()

    await wire.sendApart([
      head('GET', '/slow') + head('LIST', '/b', ['Transfer-Encoding: chunked']),
      'zz\r\n',
    ])
    release.resolve()
    const [first, second, ...rest] = await wire.untilClosed()

    expect(first?.status).toBe(200)
    expectRaw(second, 400)
    expect(rest).toEqual([])
  })

  test('a request that was answered before its body broke gets no second response', async () => {
    await using server = await listen({}, (_request, response) => response.end('early'))
    const wire = await server.open()

    wire.send(head('POST', '/a', ['Transfer-Encoding: chunked']))
    const first = await wire.answer()
    wire.send('zz\r\n')

    expect(first?.body).toBe('early')
    expect(await wire.untilClosed()).toEqual([])
  })

  test('requests after the response that closes the connection get no response', async () => {
    await using server = await listen({}, (_request, response) =>
      response.writeHead(200, { Connection: 'close', 'Content-Length': '4' }).end('last'),
    )
    const wire = await server.open()

    wire.send(`${head('LIST', '/a')}GE(T /never HTTP/1.1\r\n\r\n`)

    expect((await wire.untilClosed()).map((answer) => answer.body)).toEqual(['last'])
  })

  test('a body that breaks after the response has begun cuts the connection', async () => {
    await using server = await listen({}, (_request, response) => {
      response.writeHead(200, { 'Content-Length': '100' })
      response.write('begun')
    })
    const wire = await server.open()

    await wire.sendApart([head('LIST', '/a', ['Transfer-Encoding: chunked']), 'zz\r\n'])

    expect(await wire.untilClosed()).toEqual([])
  })
})

describe('timeouts and addresses', () => {
  test.each([
    { name: 'nothing', bytes: '' },
    { name: 'half a verb', bytes: 'LI' },
    { name: 'half a head', bytes: 'LIST /a HTTP/1.1\r\nHost:' },
  ])('$name at the end of the header timeout is 408', async ({ bytes }) => {
    await using server = await listen({ headerTimeoutMs: 30, bodyTimeoutMs: 60, timeoutCheckMs: 10 })
    const wire = await server.open()

    wire.send(bytes)
    const answers = await wire.untilClosed()

    expect(answers).toHaveLength(1)
    expectRaw(answers[0], 408)
  })

  test.each([
    { name: 'half a verb', bytes: 'LI' },
    { name: 'half a head', bytes: 'LIST /a HTTP/1.1\r\nHost:' },
  ])('$name at the end of the header timeout is 408 on a kept connection too', async ({ bytes }) => {
    await using server = await listen({ headerTimeoutMs: 30, bodyTimeoutMs: 60, timeoutCheckMs: 10 })
    const wire = await server.open()

    wire.send(head('GET', '/a'))
    const first = await wire.answer()
    wire.send(bytes)
    const rest = await wire.untilClosed()

    expect(first?.status).toBe(200)
    expect(rest).toHaveLength(1)
    expectRaw(rest[0], 408)
  })

  test('half a body at the end of the body timeout is 408', async () => {
    await using server = await listen({ headerTimeoutMs: 30, bodyTimeoutMs: 60, timeoutCheckMs: 10 })
    const wire = await server.open()

    wire.send(head('LIST', '/a', ['Content-Length: 10']) + 'half')
    const answers = await wire.untilClosed()

    expect(answers).toHaveLength(1)
    expectRaw(answers[0], 408)
  })

  test('a connection stays open longer than Go keeps idle ones', async () => {
    await using server = await listen()

    expect(server.server.keepAliveTimeout).toBe(300_000)
    expect(server.server.headersTimeout).toBe(10_000)
    expect(server.server.requestTimeout).toBe(30_000)
  })

  test('an idle connection is closed without a response', async () => {
    await using server = await listen({ idleTimeoutMs: 20 })
    const wire = await server.open()

    wire.send(head('LIST', '/a'))
    const answers = await wire.untilClosed()

    expect(seenIn(answers)).toEqual([seen('LIST', '/a')])
  })

  test('a connection beyond the limit replaces the one that has been idle longest', async () => {
    await using server = await listen({ connections: new Connections({ ...noLimits, most: 2 }) })
    const first = await server.open()
    const second = await server.open()
    first.send(head('LIST', '/a'))
    expect((await first.answer())?.status).toBe(200)

    const third = await server.open()

    expect(await second.untilClosed()).toEqual([])
    for (const wire of [first, third]) {
      wire.send(head('LIST', '/a'))
      expect((await wire.answer())?.status).toBe(200)
    }
  })

  test('the handler sees the address of the client', async () => {
    await using server = await listen({}, (request, response) =>
      response.end(`${request.socket.remoteAddress} ${request.socket.remotePort}`),
    )
    const wire = await server.open()

    wire.send(head('LIST', '/a'))

    expect((await wire.answer())?.body).toMatch(/^127\.0\.0\.1 \d+$/)
  })
})

describe('many clients', () => {
  test.each([
    '',
    'LIS',
    'LIST /a HTTP/1.1\r\nHost: x\r\n',
    head('POST', '/a', ['Content-Length: 50']) + '{',
    chunked('LIST', '/a', ['abc']).slice(0, -6),
  ])('include one that disconnects after %j without harm', async (part) => {
    await using server = await listen()
    const gone = await server.open()
    await gone.sendApart([part])
    gone.close()

    const wire = await server.open()
    wire.send(head('LIST', '/b'))

    expect(seenIn(await wire.answers(1))).toEqual([seen('LIST', '/b')])
  })

  test('are all served on fifty idle connections', async () => {
    await using server = await listen()
    const wires = await Promise.all(Array.from({ length: 50 }, () => server.open()))

    for (const wire of wires) wire.send(head('LIST', '/a'))
    const answers = await Promise.all(wires.map((wire) => wire.answers(1)))

    expect(answers.map((one) => seenIn(one))).toEqual(wires.map(() => [seen('LIST', '/a')]))
  })
})

describe('Fastify', () => {
  async function listenWithFastify() {
    const app = Fastify({
      serverFactory: (handler) => createListServer(connectionOptions({}), handler),
      clientErrorHandler: () => {},
      rewriteUrl(request) {
        if (request.method === 'LIST') request.method = 'SEARCH'
        else if (request.method === 'SEARCH') request.method = 'TRACE'
        return request.url ?? '/'
      },
    })
    app.addHttpMethod('SEARCH', { hasBody: true })
    app.removeAllContentTypeParsers()
    app.addContentTypeParser('*', { parseAs: 'string' }, (_request, body, done) => done(null, body))
    app.route({
      method: 'SEARCH',
      url: '/v1/*',
      handler: (request) => ({ listed: request.url, body: request.body ?? '' }),
    })
    app.get('/v1/*', (request) => ({ read: request.url }))
    await app.listen({ port: 0, host: '127.0.0.1' })
    const server = new WireServer(app.server)
    return {
      server,
      [Symbol.asyncDispose]: async () => {
        await server[Symbol.asyncDispose]()
        await app.close()
      },
    }
  }

  test('a route on a carrier verb sees the request and its body', async () => {
    await using fastify = await listenWithFastify()
    const wire = await fastify.server.open()

    wire.send(
      head('LIST', '/v1/a') +
        head('LIST', '/v1/b', ['Content-Type: text/x'], 'body') +
        head('GET', '/v1/c') +
        head('SEARCH', '/v1/d') +
        head('FOO', '/v1/e'),
    )
    const answers = await wire.answers(5)

    expect(answers.slice(0, 3).map((answer) => JSON.parse(answer.body))).toEqual([
      { listed: '/v1/a', body: '' },
      { listed: '/v1/b', body: 'body' },
      { read: '/v1/c' },
    ])
    expect(answers.slice(3).map((answer) => answer.status)).toEqual([404, 404])
  })

  test('malformed requests get exactly one response, ours', async () => {
    await using fastify = await listenWithFastify()
    const wire = await fastify.server.open()

    wire.send(`${head('GET', '/v1/a')}GET /b HTTP/1.1\r\nBad Name: x\r\n\r\n`)
    const [first, second, ...rest] = await wire.untilClosed()

    expect(first?.status).toBe(200)
    expectRaw(second, 400)
    expect(rest).toEqual([])
  })

  test('the idle timeout is ours', async () => {
    await using fastify = await listenWithFastify()

    expect(fastify.server.server.keepAliveTimeout).toBe(300_000)
  })
})

describe('any input', () => {
  const method = fc.oneof(
    fc.constantFrom(
      'GET',
      'POST',
      'PUT',
      'LIST',
      'LISTS',
      'HELP',
      'SCAN',
      'UNLINK',
      'CONNECT',
      'OPTIONS',
      'M-SEARCH',
      'PROPX',
    ),
    fc
      .string({ unit: fc.constantFrom(...'LISTGETPROUNM-!~'), minLength: 1, maxLength: 8 })
      .filter((token) => token !== 'PRI' && token !== 'HEAD'),
  )
  const text = fc
    .array(
      fc.constantFrom(
        'LIST /x HTTP/1.1',
        '\r\n',
        '\n',
        '\r',
        'UN',
        'PRO',
        'G',
        '0\r\n\r\n',
        'Host: x',
        '1\r\n',
        '\0',
        '\xff',
        '"',
      ),
      { maxLength: 8 },
    )
    .map((parts) => parts.join(''))
  const request = fc.record({
    method,
    url: fc.constantFrom('/', '/v1/a', '/LIST', '*', 'http://gate/b', '/?list=true'),
    chunks: fc.option(
      fc.array(text, { maxLength: 4 }).map((chunks) => chunks.filter((chunk) => chunk !== '')),
    ),
    counted: fc.boolean(),
    blankLinesBefore: fc.nat({ max: 2 }),
  })

  test('the handler sees what was sent, however it was split', { timeout: 60_000 }, async () => {
    await using server = await listen()
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 6 }),
        fc.array(fc.nat(), { maxLength: 6 }),
        async (requests, cuts) => {
          const bytes = requests
            .map(({ method, url, chunks, counted, blankLinesBefore }) => {
              const blank = '\r\n'.repeat(blankLinesBefore)
              if (chunks === null) return blank + head(method, url)
              return blank + (counted ? head(method, url, [], chunks.join('')) : chunked(method, url, chunks))
            })
            .join('')
          const places = [...new Set([0, bytes.length, ...cuts.map((cut) => cut % bytes.length)])].sort(
            (a, b) => a - b,
          )
          const parts = places.slice(1).map((place, index) => bytes.slice(places[index], place))
          const wire = await server.open()

          await wire.sendApart(parts)
          const answers = seenIn(await wire.answers(requests.length))
          wire.close()

          expect(answers).toEqual(
            requests.map(({ method, url, chunks }) => seen(method, url, (chunks ?? []).join(''))),
          )
        },
      ),
      { numRuns: 400, interruptAfterTimeLimit: 5_000 },
    )
  })

  const damage = fc.record({
    at: fc.nat(),
    cutOut: fc.nat({ max: 3 }),
    putIn: fc.constantFrom(
      '',
      '\r\n',
      '\n',
      '\r',
      '\r\n\r\n',
      '\n\n',
      '0\r\n\r\n',
      head('GET', '/in'),
      'Transfer-Encoding: chunked\r\n',
      '5\r\n',
      '\0',
      ':',
      ' ',
    ),
  })
  const known = fc.record({
    method: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE'),
    url: fc.constantFrom('/a', '/b'),
    body: fc.option(text),
    counted: fc.boolean(),
  })

  test('damaged input never makes the handler see a request that the parser alone would not', {
    timeout: 60_000,
  }, async () => {
    const [oursSaw, plainSaw]: [string[], string[]] = [[], []]
    const noteIn =
      (log: string[]): RequestListener =>
      (request, response) => {
        log.push(`${request.method} ${request.url}`)
        response.end()
      }
    await using ours = await listen({}, noteIn(oursSaw))
    await using plain = new WireServer(createServer({ requireHostHeader: false }, noteIn(plainSaw)))
    await new Promise<void>((resolve) => plain.server.listen(0, '127.0.0.1', resolve))

    await fc.assert(
      fc.asyncProperty(
        fc.array(known, { minLength: 1, maxLength: 4 }),
        fc.array(damage, { maxLength: 3 }),
        async (requests, damages) => {
          const whole = requests
            .map(({ method, url, body, counted }) =>
              body === null || counted
                ? head(method, url, [], body ?? undefined)
                : chunked(method, url, body === '' ? [] : [body]),
            )
            .join('')
          const bytes = damages.reduce((sent, { at, cutOut, putIn }) => {
            const place = at % (sent.length + 1)
            return sent.slice(0, place) + putIn + sent.slice(place + cutOut)
          }, whole)
          oursSaw.length = 0
          plainSaw.length = 0

          for (const server of [ours, plain]) {
            const wire = await server.open()
            wire.send(bytes)
            wire.end()
            await wire.untilClosed()
          }
          const respelled = oursSaw.findIndex(
            (line) => !/^(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS) /.test(line),
          )
          const shared = respelled === -1 ? oursSaw : oursSaw.slice(0, respelled)

          expect(shared).toEqual(plainSaw.slice(0, shared.length))
        },
      ),
      { numRuns: 400, interruptAfterTimeLimit: 5_000 },
    )
  })
})
