import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { CommonHeaders } from '../../src/http/common-headers.ts'
import { checkParser } from '../../src/http/parser-check.ts'
import { RequestFeed } from '../../src/http/request-feed.ts'

/**
 * A feed with a parser that the test implements: it gets the feed, a function that reports a request, and the
 * bytes.
 */
function feedWith(
  parse: (report: (headers: Record<string, string>) => IncomingMessage, text: string) => void,
) {
  const socket = new Socket()
  const verdicts: boolean[] = []
  const feed: RequestFeed = new RequestFeed(socket, (bytes) => parse(report, bytes.toString()), {
    headerTimeoutMs: 1000,
    common: new CommonHeaders(),
    onRefused: () => {},
  })
  const report = (headers: Record<string, string>) => {
    const request = new IncomingMessage(socket)
    Object.assign(request.headers, headers)
    verdicts.push(feed.accept(request, new ServerResponse(request)))
    return request
  }
  return { feed, socket, verdicts }
}

test('this Node.js works with the feed', () => {
  expect(checkParser).not.toThrow()
})

test('a parser that reads two requests from one piece loses the connection', () => {
  const { feed, socket, verdicts } = feedWith((report) => {
    report({})
    report({})
  })

  feed.take(Buffer.from('GET / HTTP/1.1\r\n\r\n'))

  expect(verdicts).toEqual([true, false])
  expect(socket.destroyed).toBe(true)
})

test('a parser that ends a request before its length loses the connection', () => {
  let request: IncomingMessage | undefined
  const { feed, socket } = feedWith((report, text) => {
    if (text.startsWith('POST')) request = report({ 'content-length': '4' })
    else if (request !== undefined) request.complete = true
  })

  feed.take(Buffer.from('POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nab'))

  expect(socket.destroyed).toBe(true)
})

test('a parser that waits beyond the length loses the connection', () => {
  const { feed, socket } = feedWith((report, text) => {
    if (text.startsWith('POST')) report({ 'content-length': '2' })
  })

  feed.take(Buffer.from('POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab'))

  expect(socket.destroyed).toBe(true)
})

test('a parser that waits for an unannounced body loses the connection', () => {
  const { feed, socket } = feedWith((report) => report({}))

  feed.take(Buffer.from('GET / HTTP/1.1\r\n\r\n'))

  expect(socket.destroyed).toBe(true)
})

test('a request reported in the middle of a body loses the connection', () => {
  const { feed, socket, verdicts } = feedWith((report) => report({ 'transfer-encoding': 'chunked' }))

  feed.take(Buffer.from('POST / HTTP/1.1\r\n\r\n5\r\nhello\r\n0\r\n\r\n'))

  expect(verdicts).toEqual([true, false])
  expect(socket.destroyed).toBe(true)
})

test('a parser that ends a chunked request before its last chunk loses the connection', () => {
  let request: IncomingMessage | undefined
  const { feed, socket } = feedWith((report, text) => {
    if (text.startsWith('POST')) request = report({ 'transfer-encoding': 'chunked' })
    else if (request !== undefined) request.complete = true
  })

  feed.take(Buffer.from('POST / HTTP/1.1\r\n\r\n5\r\nhel'))

  expect(socket.destroyed).toBe(true)
})

test('a chunked body reaches the parser as one piece per packet, however many blank lines it contains', () => {
  const pieces: string[] = []
  const { feed } = feedWith((report, text) => {
    pieces.push(text)
    if (text.startsWith('POST')) report({ 'transfer-encoding': 'chunked' })
  })

  feed.take(Buffer.from(`POST / HTTP/1.1\r\n\r\n8\r\n${'\r\n'.repeat(4)}\r\n8\r\n${'\r\n'.repeat(4)}\r\n`))

  expect(pieces).toHaveLength(2)
})

test('a repeated request with a prepared response is not parsed again', () => {
  const socket = new Socket()
  const parsed: string[] = []
  const repeated: (string | undefined)[] = []
  const feed: RequestFeed = new RequestFeed(
    socket,
    (bytes) => {
      const [, url = '', name = ''] = /^GET (\S+)[^\n]+\n(?:([\w-]+):)?/.exec(bytes.toString()) ?? []
      parsed.push(url)
      const request = new IncomingMessage(socket)
      Object.assign(request, { url, httpVersion: '1.1', isPrepared: url !== '/usual', complete: true })
      if (name !== '') request.headers[name.toLowerCase()] = 'x'
      const response = new ServerResponse(request)
      response.shouldKeepAlive = true
      feed.accept(request, response)
      response.destroy()
    },
    {
      headerTimeoutMs: 1000,
      common: new CommonHeaders(),
      onRefused: () => {},
      repeat: ({ url }) => {
        repeated.push(url)
        return () => {}
      },
    },
  )
  const get = (url: string, header = '') => Buffer.from(`GET ${url} HTTP/1.1\r\n${header}\r\n`)

  for (const bytes of [get('/a'), get('/a'), get('/a'), get('/b'), get('/a')]) feed.take(bytes)
  for (const bytes of [get('/usual'), get('/usual'), get('/a')]) feed.take(bytes)
  // two at once, and one in two parts
  for (const bytes of [Buffer.concat([get('/a'), get('/a')]), Buffer.from('GE'), get('/a').subarray(2)])
    feed.take(bytes)
  const withToken = get('/t', 'X-Vault-Token: x\r\n')
  for (const bytes of [withToken, withToken]) feed.take(bytes)

  expect(repeated).toEqual(['/a', '/a', '/a'])
  expect(parsed).toEqual(['/a', '/b', '/a', '/usual', '/usual', '/a', '/a', '/a', '/t', '/t'])
})
