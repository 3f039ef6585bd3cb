import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { CommonHeaders } from '../../src/http/exchange/common-headers.ts'
import { LargeHeads } from '../../src/http/wire/large-heads.ts'
import { checkParser } from '../../src/http/wire/parser-check.ts'
import { RequestFeed } from '../../src/http/wire/request-feed.ts'

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
    large: new LargeHeads(32 * 1024),
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

test('64 large heads may arrive at once: a further one waits for none of them', () => {
  const large = new LargeHeads(10)

  for (let count = 0; count < 64; count += 1) expect(large.enter()).toBe(true)
  expect(large.enter()).toBe(false)
  large.leave()

  expect(large.enter()).toBe(true)
})
