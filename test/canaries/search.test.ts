import { Buffer } from 'node:buffer'
import { expect, test } from 'vitest'
import { canariesIn, canary, placeOf, sightings } from './search.ts'

const hidden: [form: string, hide: (text: string) => string | Buffer][] = [
  ['plain text', (text) => `say ${text}!`],
  ['lower case', (text) => text.toLowerCase()],
  ['JSON', (text) => JSON.stringify({ text })],
  ['a URL', (text) => `/?a=${encodeURIComponent(text)}&b`],
  ['hex', (text) => Buffer.from(`a${text}z`).toString('hex')],
  ['upper-case hex', (text) => Buffer.from(text).toString('hex').toUpperCase()],
  ['base64', (text) => Buffer.from(text).toString('base64')],
  ['base64 after one byte', (text) => Buffer.from(`1${text}`).toString('base64')],
  ['base64 after two bytes', (text) => Buffer.from(`12${text}3`).toString('base64')],
  ['base64url', (text) => Buffer.from(`1${text}3`).toString('base64url')],
  [
    'a page of a database',
    (text) => Buffer.concat([Buffer.alloc(4096, 0xff), Buffer.from(text), Buffer.alloc(9)]),
  ],
]

test.each(hidden)('a canary in %s is found', (_, hide) => {
  expect(canariesIn(placeOf('here', hide(canary(42))))).toEqual([42])
})

test.each(hidden.filter(([form]) => form !== 'lower case'))('a secret in %s is found', (_, hide) => {
  const secret = 'p+a/s s~w"ö?r>d'

  expect(sightings(new Map([['it', secret]]), [placeOf('here', hide(secret))])).not.toEqual([])
  expect(sightings(new Map([['it', 'another secret']]), [placeOf('here', hide(secret))])).toEqual([])
})
