import { describe, expect, test } from 'vitest'
import { parseClaims, parseJws } from '../../../src/jwt/jws/jws.ts'
import { parseStrictObject } from '../../../src/jwt/jws/strict-json.ts'
import { aSigner } from './signer.ts'

const limits = { maxTokenSize: 512 * 1024 }
const b64 = (text: string) => Buffer.from(text).toString('base64url')
const tokenOf = (header: string, payload = '{}', signature = 'c2ln') =>
  `${b64(header)}.${b64(payload)}.${signature}`

const malformedIn = (token: string) => {
  const jws = parseJws(token, limits)
  return 'malformed' in jws ? jws.malformed : 'readable'
}

describe('compact form', () => {
  test('header, signed part, payload and signature are separated', () => {
    const signer = aSigner('ES256', { kid: 'k1' })
    const token = signer.sign({ sub: 'x' })
    const jws = parseJws(token, limits)
    if ('malformed' in jws) throw new Error(jws.malformed)
    expect(jws).toMatchObject({ algorithm: 'ES256', keyId: 'k1' })
    expect(jws.signedText).toBe(token.slice(0, token.lastIndexOf('.')))
    expect(parseClaims(jws.payload)).toEqual({ sub: 'x' })
    expect(jws.signature).toHaveLength(64)
  })

  test.each(['\n', ' ', '\t\r\n', '\u00a0', '\u2028', '\u3000', '\u0085'])(
    'white space %j is ignored anywhere',
    (blank) => {
      const token = tokenOf('{"alg":"ES256"}')
      expect(malformedIn(`${blank}${token.slice(0, 5)}${blank}${token.slice(5)}${blank}`)).toBe('readable')
    },
  )

  const threeParts = 'go-jose/go-jose: compact JWS format must have three parts'
  test.each([
    ['garbage', threeParts],
    ['a.b', threeParts],
    ['a.b.c.d', threeParts],
    ['a.b.c.d.e', threeParts],
    ['', threeParts],
    ['{"payload":"","signatures":[]}', threeParts],
    ['.'.repeat(500_000), threeParts],
    ['a.b.c', 'illegal base64 data at input byte 0'],
    ['ab+d.e30.c2ln', 'illegal base64 data at input byte 2'],
    ['ab/d.e30.c2ln', 'illegal base64 data at input byte 2'],
    [`${b64('{}')}=.e30.c2ln`, 'illegal base64 data at input byte 3'],
    ['e30.e3A=.c2ln', 'illegal base64 data at input byte 3'],
    ['é.e30.c2ln', 'illegal base64 data at input byte 0'],
    ['\ufeffe30.e30.c2ln', 'illegal base64 data at input byte 0'],
  ])('$0 is malformed: $1', (token, text) => {
    expect(malformedIn(token)).toBe(text)
  })

  test.each(['e31.e30.c2ln', 'e30.e31.c2ln', 'e30.e30.c2ln1w.', 'e30.e30.QR', 'e30.e30.QUJ'])(
    'only canonical base64url is accepted: %s',
    (token) => {
      expect(malformedIn(token)).not.toBe('readable')
    },
  )

  test.each(['e30.e30.QQ', 'e30.e30.QUI', 'e30.e30.QUJD', 'e30.e30.'])(
    'canonical base64url is accepted: %s',
    (token) => {
      expect(malformedIn(token)).toBe('readable')
    },
  )

  test('a token over 512 KiB is refused, and one at the limit is parsed', () => {
    const head = `${b64('{"alg":"ES256"}')}.`
    const exact = `${head}${'A'.repeat(512 * 1024 - head.length - 1)}.`
    expect(malformedIn(exact)).toBe('readable')
    expect(malformedIn(`${exact} `)).toBe('token is too long')
    expect(malformedIn('A'.repeat(1024 ** 2))).toBe('token is too long')
    expect('malformed' in parseJws(`${exact}AAAA`, { maxTokenSize: 0 })).toBe(false)
  })
})

describe('header', () => {
  test.each([
    ['{"alg":"ES256","crit":["exp"],"exp":1}', 'unsupported crit header'],
    ['{"alg":"ES256","crit":["b64"],"b64":false}', 'unsupported crit header'],
    ['{"alg":"ES256","crit":null}', 'unsupported crit header'],
    ['{"alg":"ES256","alg":"ES256"}', 'header is not a JSON object with unique member names'],
    ['{"alg":"none","\\u0061lg":"ES256"}', 'header is not a JSON object with unique member names'],
    ['{"alg":"ES256","x":{"a":1,"a":1}}', 'header is not a JSON object with unique member names'],
    ['[]', 'header is not a JSON object with unique member names'],
    ['null', 'header is not a JSON object with unique member names'],
    ['{"alg":"ES256"', 'header is not a JSON object with unique member names'],
    ['{"alg":5}', 'failed to unmarshal algorithm'],
    ['{"alg":"ES256","kid":5}', 'failed to unmarshal kid'],
    [JSON.stringify({ alg: 'ES256', kid: 'k'.repeat(4097) }), 'kid is too long'],
    [JSON.stringify({ alg: 'ES256', kid: 'é'.repeat(2049) }), 'kid is too long'],
  ])('$0 is refused: $1', (header, text) => {
    expect(malformedIn(tokenOf(header))).toBe(text)
  })

  test('a header that is not UTF-8 is refused', () => {
    const header = Buffer.from([...Buffer.from('{"alg":"ES256","x":"'), 0xff, ...Buffer.from('"}')]).toString(
      'base64url',
    )
    expect(malformedIn(`${header}.e30.c2ln`)).toBe('header is not a JSON object with unique member names')
  })

  test.each([
    [
      '{"typ":null,"alg":"ES256","jwk":{"kty":"RSA"},"jku":"http://x","x5u":"http://x","x5c":["AA"],"kid":null}',
      'ES256',
      '',
    ],
    ['{}', '', ''],
    ['{"alg":null}', '', ''],
    ['{"alg":"HS256","kid":"k"}', 'HS256', 'k'],
    [JSON.stringify({ alg: 'ES256', kid: 'k'.repeat(4096) }), 'ES256', 'k'.repeat(4096)],
    ['{"__proto__":{"alg":"ES256"}}', '', ''],
  ])('$0 is read: algorithm $1', (header, algorithm, keyId) => {
    expect(parseJws(tokenOf(header), limits)).toMatchObject({ algorithm, keyId })
  })
})

describe('payload', () => {
  test.each([
    '[]',
    '"x"',
    '1',
    '{',
    '',
    'plain',
    '{"a":1,"a":1}',
    '{"a":1,"\\u0061":2}',
    '{"x":[{"a":1,"a":2}]}',
    '{} {}',
    '{"__proto__":1,"__proto__":2}',
  ])('%s has no claims', (payload) => {
    expect(parseClaims(Buffer.from(payload))).toBeUndefined()
  })

  test('null is a payload without claims', () => {
    expect(parseClaims(Buffer.from('null'))).toEqual({})
  })

  test('names that only look alike, or are in different objects, are not duplicates', () => {
    const text = '{"a":{"a":":,{}[]"},"b":[{"a":1},{"a":2}],"A":"\\"a\\":1","c\\\\":{"a:":1}}'
    expect(parseStrictObject(text)).toEqual(JSON.parse(text))
  })

  test('__proto__ is a claim like any other and changes no object', () => {
    const claims = parseStrictObject('{"__proto__":{"admin":true}}') ?? {}
    expect(Object.hasOwn(claims, '__proto__')).toBe(true)
    expect(claims.admin).toBeUndefined()
  })

  test('integers beyond 2^53 keep their value, and lone surrogates become U+FFFD', () => {
    expect(
      parseStrictObject('{"a":9007199254740993,"b":1.5e300,"c":"\\ud800","d":"\\ud83d\\ude00"}'),
    ).toEqual({ a: 9007199254740993n, b: 1.5e300, c: '\ufffd', d: '\u{1f600}' })
  })

  test.each([
    [308, { a: BigInt('9'.repeat(308)) }],
    [309, undefined],
    [390_000, undefined],
  ])('an integer of %i digits costs no more than parsing it', (digits, parsed) => {
    expect(parseStrictObject(`{"a":${'9'.repeat(digits)}}`)).toEqual(parsed)
  })

  test.each(['1e400', '[-1e309]', `{"b":[[${'9'.repeat(309)}.5]]}`])(
    'a payload with the number %s, which is beyond a double, is refused',
    (number) => {
      expect(parseStrictObject(`{"a":${number}}`)).toBeUndefined()
    },
  )

  test.each([
    ['128 deep', 127, true],
    ['129 deep', 128, false],
    ['200,000 deep', 200_000, false],
  ])('nesting is limited: %s', (_name, depth, ok) => {
    const text = `{"a":${'['.repeat(depth)}${']'.repeat(depth)}}`
    expect(parseStrictObject(text) !== undefined).toBe(ok)
  })

  test.each([
    ['30,000 values are read', 29_998, true],
    ['one value more is malformed', 29_999, false],
  ])('%s, and commas inside strings do not count', (_name, numbers, isRead) => {
    const text = `{"pad":"${','.repeat(20_000)}","list":[${Array.from({ length: numbers }, () => '1').join()}]}`

    expect(parseStrictObject(text) !== undefined).toBe(isRead)
  })

  test.each([
    ['5,000 members are read', 4_998, true],
    ['one member more is malformed', 4_999, false],
  ])('%s, and colons inside strings do not count', (_name, members, isRead) => {
    const many = Array.from({ length: members }, (_, at) => `"c${at}":1`)
    const text = `{"pad":"${':'.repeat(20_000)}","inner":{${many.join()}}}`

    expect(parseStrictObject(text) !== undefined).toBe(isRead)
  })

  test.each([
    ['"'.repeat(400_000)],
    ['{"a":'.repeat(90_000)],
    [':'.repeat(400_000)],
    [`{"a":"${'\\'.repeat(400_000)}`],
  ])('hostile text is refused: row %#', (text) => {
    expect(parseStrictObject(text)).toBeUndefined()
  })
})
