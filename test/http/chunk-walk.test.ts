import { expect, test } from 'vitest'
import { ChunkWalk } from '../../src/http/wire/chunk-walk.ts'

const walked = (...parts: string[]) => {
  const walk = new ChunkWalk()
  return parts.map((part) => ({ stopped: walk.advance(Buffer.from(part, 'latin1'), 0), last: walk.last }))
}

test.each([
  { name: 'no chunk at all', bytes: '0\r\n', stop: 3 },
  { name: 'one chunk', bytes: '3\r\nabc\r\n0\r\n', stop: 11 },
  { name: 'data that looks like an end', bytes: '7\r\n\r\n0\r\n\r\n\r\n0\r\n', stop: 15 },
  {
    name: 'hex digits of both cases',
    bytes: `1a\r\n${'x'.repeat(26)}\r\nA\r\n${'y'.repeat(10)}\r\n0\r\n`,
    stop: 50,
  },
  { name: 'padded sizes', bytes: '003\r\nabc\r\n000\r\n', stop: 15 },
  { name: 'extensions', bytes: '3;a=1f\r\nabc\r\n0;b\r\n', stop: 18 },
])('the walk stops after the last size line: $name', ({ bytes, stop }) => {
  expect(walked(`${bytes}\r\nGET /`)).toEqual([{ stopped: stop, last: true }])
  for (let cut = 1; cut < bytes.length; cut++) {
    const rest = bytes.slice(cut)
    expect(walked(bytes.slice(0, cut), `${rest}\r\nGET /`)).toEqual([
      { stopped: cut, last: false },
      { stopped: rest.length, last: true },
    ])
  }
})
