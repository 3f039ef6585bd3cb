import { describe, expect, test } from 'vitest'
import { shapeOf } from '../../../src/jwt/jws/token-shape.ts'
import { shared } from '../../support/shared.ts'
import { startTestServer } from '../../support/start-server.ts'
import { jwksOf, startProvider } from './provider.ts'
import { aSigner } from './signer.ts'

/** For the tests that leave behind nothing that others would notice. */
const sharedServer = shared(() => startTestServer())

const encoded = (value: unknown) =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url')
const signer = aSigner('ES256')
const jwt = signer.sign({ sub: 'bob' })
const jwe = `${encoded({ alg: 'RSA-OAEP', enc: 'A256GCM' })}.a2V5.aXY.dGV4dA.dGFn`

const certain: [name: string, token: string, words: string][] = [
  ['the word Bearer in front', `Bearer ${jwt}`, 'it has "Bearer " in front'],
  ['a whole header', `Authorization: bearer ${jwt}`, 'it has "Bearer " in front'],
  ['a variable of a shell', '$CI_JOB_JWT', 'it is a variable that was not expanded'],
  ['a variable in braces', ` \${ID_TOKEN}\n`, 'it is a variable that was not expanded'],
  ['an expression of GitHub', `\${{ steps.token.outputs.value }}`, 'it is a variable that was not expanded'],
  ['a command of a shell', '$(cat token)', 'it is a variable that was not expanded'],
  ['a variable of PowerShell', '$env:ID_TOKEN', 'it is a variable that was not expanded'],
  ['a file as curl has it', '@/var/run/token', 'it is the name of a file, not what is in it'],
  ['Bearer as it stands in a URL', `Bearer%20${jwt}`, 'it has "Bearer " in front'],
  ['a variable of Windows', '%ID_TOKEN%', 'it is a variable that was not expanded'],
  ['a template', '{{ token }}', 'it is a variable that was not expanded'],
  ['a placeholder', '<your token>', 'it is a variable that was not expanded'],
  ['quotes', `"${jwt}"`, 'it stands in quotes'],
  [
    'an answer with the token in it',
    JSON.stringify({ value: jwt }),
    'it is a JSON document, not the token in it',
  ],
  ['a page', '<!DOCTYPE html><html></html>', 'it is a page, not a token'],
  ['a key', signer.pem, 'it is a PEM block, not a token'],
  ['a token that is encrypted', jwe, 'it is an encrypted token (JWE), which only its recipient can read'],
]

const likely: [name: string, token: string, words: string][] = [
  ['an access token', 'ya29.A0ARrdaM', 'it looks opaque, like an access token that is no JWT'],
  ['a blank', ' \n', 'it is blank'],
  ['a value that is not there', 'undefined', 'it is the word for a value that is not there'],
  [
    'padding at its end',
    `${jwt}==`,
    'it is encoded with +, / or =, where a JWT has the alphabet of base64url and no =',
  ],
  ['a byte of zero at its end', `${jwt}\0`, 'it has a character that no JWT has'],
  ['a password', 'correct horse', 'it looks opaque, like an access token that is no JWT'],
  ['five parts without a header', 'a.b.c.d.e', 'it looks opaque, like an access token that is no JWT'],
  [
    'a byte order mark',
    `${encoded('\uFEFF{"alg":"ES256"}')}.e30.c2ln`,
    'its header begins with a byte order mark',
  ],
  ['a token of ours', 'hvs.CAESIJ', 'it looks like a token of a secrets server, not like a JWT'],
  ['a part of a JWT', jwt.slice(0, 40), 'it looks like a JWT that was cut off'],
  ['three parts of something else', 'not.a.jwt', 'it has three parts that are not the JSON of a JWT'],
]

describe('a value that is not a JWT is described by its shape', () => {
  test.each(certain)('%s', (_name, token, words) => {
    expect(shapeOf(token)).toEqual({ words, isCertain: true })
  })

  test.each(likely)('%s', (_name, token, words) => {
    expect(shapeOf(token)).toEqual({ words, isCertain: false })
  })

  test('a JWT is not mistaken for anything else', () => {
    expect(shapeOf(jwt)).toBeUndefined()
  })

  test.each([...certain, ...likely])(
    'the operator sees it in explain and failures, and the caller if it is certain: %s',
    async (_name, token, words) => {
      const server = await sharedServer()
      await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
      await server.root.write('auth/jwt/role/ci', {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_subject: 'bob',
      })

      const refused = await server.anonymous.write('auth/jwt/login', { role: 'ci', jwt: token })
      const explained = (await server.root.write('auth/jwt/explain', { role: 'ci', jwt: token })).body.data
      const failures = (await server.root.read('auth/jwt/failures')).body.data?.['failures']
      const kept = (await server.root.write('auth/jwt/explain', { request_id: refused.body.request_id })).body
        .data

      expect(String(refused.body.errors?.[0]).endsWith(`: ${words}`)).toBe(
        certain.some(([, other]) => other === token),
      )
      expect(explained).toMatchObject({ reason: 'token_malformed', error: refused.body.errors?.[0] })
      const shape = {
        name: 'signature',
        verdict: 'fail',
        expected: ['a JWT of three parts'],
        seen: words,
        detail: 'jwt',
      }
      for (const told of [explained, kept])
        expect(told?.['checks']).toContainEqual(expect.objectContaining(shape))
      expect(String(failures?.['0']?.['cause']).endsWith(`: ${words}`)).toBe(true)
      for (const text of [refused.text, JSON.stringify(failures)])
        expect(text).not.toContain(token.slice(0, 12))
    },
  )
})

describe('a signed payload without claims is called what it is', () => {
  test.each([
    { payload: Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), seen: 'not UTF-8' },
    { payload: Buffer.from('\uFEFF{"sub":"bob"}', 'utf16le'), seen: 'not UTF-8' },
    { payload: 'sub=bob', seen: 'not JSON' },
    { payload: '\uFEFF{"sub":"bob"}', seen: 'byte order mark' },
    { payload: ' [{"sub":"bob"}]', seen: 'an array' },
    { payload: '"bob"', seen: 'a text' },
    { payload: '-1', seen: 'a number' },
    { payload: 'true', seen: 'a boolean' },
    { payload: '', seen: 'nothing' },
    { payload: '{"sub":"bob",', seen: 'an object that is not JSON, has a member twice, or holds too much' },
  ])('$seen', async ({ payload, seen }) => {
    const server = await sharedServer()
    await using provider = await startProvider({ '/keys': jwksOf(signer) })
    await server.root.write('sys/auth/remote', { type: 'jwt' })
    await server.root.write('auth/jwt/config', { jwt_validation_pubkeys: [signer.pem] })
    await server.root.write('auth/remote/config', { jwks_url: `${provider.url}/keys` })
    const jwt = signer.sign(payload)

    for (const [mount, told] of [
      ['jwt', 'no known key successfully validated the token signature'],
      ['remote', 'oidc: malformed jwt: payload is not a JSON object'],
    ]) {
      await server.root.write(`auth/${mount}/role/ci`, {
        role_type: 'jwt',
        user_claim: 'sub',
        bound_subject: 'bob',
      })
      const error = `error validating token: error verifying token signature: ${told}`
      const refused = await server.anonymous.write(`auth/${mount}/login`, { role: 'ci', jwt })
      expect(refused).toMatchObject({ status: 400, body: { errors: [error] } })
      const kept = { request_id: refused.body.request_id }
      for (const asked of [{ role: 'ci', jwt }, kept]) {
        const { data } = (await server.root.write(`auth/${mount}/explain`, asked)).body
        expect(data).toMatchObject({ reason: 'token_malformed', cause: `${error} (payload: ${seen})` })
        const check = { verdict: 'fail', expected: ['a JSON object in UTF-8'], seen, detail: 'payload' }
        expect(data?.['checks']).toContainEqual(expect.objectContaining(check))
      }
      const failures = (await server.root.read(`auth/${mount}/failures`)).body.data?.['failures']
      expect(failures?.['0']).toMatchObject({ cause: `${error} (payload: ${seen})` })
    }
  })
})
