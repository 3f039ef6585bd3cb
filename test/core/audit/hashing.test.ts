import { createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import {
  everyValue,
  type Hiding,
  hashingWith,
  hiddenText,
  hidingBut,
} from '../../../src/core/audit/hashing.ts'
import { parseLossless } from '../../../src/lib/text/json.ts'

const plain = { logRaw: false, hmacAccessor: true, elideListResponses: false }

test('a text is shown as its HMAC-SHA-256 under the salt of the device', () => {
  const { hash } = hashingWith('salt', plain)

  expect(hash('a')).toBe(`hmac-sha256:${createHmac('sha256', 'salt').update('a').digest('hex')}`)
})

describe('the text of data', () => {
  const copied = (json: string, clear: string[] = [], isSecretIn?: Hiding['isSecretIn']) => {
    const hide = hidingBut((text) => `#${text}`, { clear: new Set(clear), secret: new Set() })
    return hiddenText(Object(parseLossless(json)), { hide, isSecretIn })
  }

  test.each([
    { name: 'texts', json: '{"a":"b"}', copy: '{"a":"#b"}' },
    { name: 'elements', json: '{"a":["b",["c"]]}', copy: '{"a":["#b",["#c"]]}' },
    { name: 'texts further down', json: '{"a":{"b":{"c":"d"}}}', copy: '{"a":{"b":{"c":"#d"}}}' },
    { name: 'empty texts', json: '{"a":""}', copy: '{"a":"#"}' },
    { name: 'values of keys like __proto__', json: '{"__proto__":"a"}', copy: '{"__proto__":"#a"}' },
  ])('hashes $name', async ({ json, copy }) => {
    expect(await copied(json)).toBe(copy)
  })

  test.each([
    { name: 'numbers, with their text', json: '{"a":1.50,"b":[1e400]}' },
    { name: 'booleans and null', json: '{"a":true,"b":null,"c":{},"d":[]}' },
    { name: 'times', json: '{"a":"2026-01-02T03:04:05.123456789Z","b":"2026-01-02T03:04:05+01:00"}' },
  ])('keeps $name', async ({ json }) => {
    expect(await copied(json)).toBe(json)
  })

  test.each([
    '2026-01-02',
    '2026-01-02T03:04:05',
    '2026-01-02T03:04:05Z ',
    '2026-13-02T03:04:05Z',
    '1770000000',
  ])('hashes %s, which is no RFC 3339 time', async (text) => {
    expect(await copied(JSON.stringify({ a: text }))).toBe(JSON.stringify({ a: `#${text}` }))
  })

  test('keeps values of a clear key, also in its lists, but not below another key', async () => {
    const json = '{"open":["a",["b"],{"shut":"c","open":"d"}],"shut":{"open":"e"}}'

    expect(await copied(json, ['open'])).toBe(
      '{"open":["a",["b"],{"shut":"#c","open":"d"}],"shut":{"open":"e"}}',
    )
  })

  test('hashes numbers, booleans and times of secret values, at any depth', async () => {
    const json = '{"data":{"n":1.50,"in":[true,{"t":"2026-01-02T03:04:05Z","data":2}]},"n":3,"x":{"data":4}}'
    const below = '{"data":{"n":"#1.50","in":["#true",{"t":"#2026-01-02T03:04:05Z","data":"#2"}]}'

    expect(await copied(json, [], (member) => member === 'data')).toBe(`${below},"n":3,"x":{"data":4}}`)
    expect(await copied(json, [], everyValue.request)).toBe(`${below},"n":"#3","x":{"data":"#4"}}`)
    expect(await copied('{"a":null,"n":1.50,"in":{"n":[2]}}', ['n'], everyValue.request)).toBe(
      '{"a":null,"n":1.50,"in":{"n":[2]}}',
    )
  })

  test('has any depth', async () => {
    const json = `${'{"a":'.repeat(10_000)}"b"${'}'.repeat(10_000)}`

    expect(await copied(json)).toBe(json.replace('"b"', '"#b"'))
  })
})

test('data that no device could write in time is omitted', async () => {
  const names = Array.from({ length: 300_000 }, (_, at) => `${at}`.padStart(64, 'x'))

  expect(await hiddenText({ names }, { hide: (text) => text })).toBe(
    '{"omitted":"longer than 16777216 characters"}',
  )
})
