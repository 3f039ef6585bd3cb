import { describe, expect, test } from 'vitest'
import { OutboundClient } from '../../../../src/core/outbound/outbound.ts'
import { CheckQueue } from '../../../../src/jwt/jws/check-queue.ts'
import { JwksKeyset } from '../../../../src/jwt/keys/keyset.ts'
import { SharedSources } from '../../../../src/jwt/keys/shared-sources.ts'
import { readConfig } from '../../../../src/plugins/jwt-auth/config/jwt-config.ts'
import { verifyIdToken } from '../../../../src/plugins/jwt-auth/oidc/id-token.ts'
import type { PendingLogin } from '../../../../src/plugins/jwt-auth/oidc/pending-login.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { jwksOf, startProvider } from '../provider.ts'
import { aSigner, signedWithSecret } from '../signer.ts'

const now = 1_800_000_000
const issuer = 'https://idp.example'
const rsa = aSigner('RS256', { kid: 'k1' })
const ec = aSigner('ES256', { kid: 'k2' })

type Given = {
  claims?: object
  config?: object
  login?: Partial<PendingLogin>
  token?: (claims: object) => string
}

/** Reason and text without the common prefix; `ok` if accepted. */
async function verdict({
  claims = {},
  config = {},
  login = {},
  token = (all) => rsa.sign(all),
}: Given): Promise<string> {
  await using provider = await startProvider({ '/jwks': jwksOf(rsa, ec) })
  const limits = { maxTokenSize: 0 }
  const fixture = {
    sources: new SharedSources({ outbound: new OutboundClient({ deny: [] }), clock: new FakeClock() }),
    fetchedAfter: 0,
    clock: new FakeClock(),
    queue: new CheckQueue(64),
    limits,
    onFetch: () => {},
  }
  const keys = new JwksKeyset({ url: `${provider.url}/jwks`, caPem: '' }, fixture)
  const valid = { iss: issuer, sub: 'bob', aud: 'abc', iat: now - 5, exp: now + 300, nonce: 'n_1' }
  const all = Object.fromEntries(
    Object.entries({ ...valid, ...claims }).filter(([, value]) => value !== undefined),
  )
  const rules = {
    config: readConfig({ oidc_discovery_url: issuer, oidc_client_id: 'abc', ...config }),
    login: { ...begun, ...login },
    nowMs: now * 1000,
  }
  const result = await verifyIdToken(token(all), { keys, client: '192.0.2.1' }, rules, limits)
  return 'reason' in result
    ? `${result.reason}: ${result.text.replace(/^Provider\.VerifyIDToken: (invalid id_token: )?/, '')}`
    : 'ok'
}

const begun: PendingLogin = {
  role: 'test',
  redirect_uri: 'https://x',
  nonce: 'n_1',
  code_verifier: 'v',
  client_nonce: '',
  bound_audiences: [],
  max_age: 0,
  created: (now - 10) * 1000,
  listed: '',
  code: '',
  id_token: '',
  refused: false,
  confirmed_at: 0,
  issuer: '',
  address: '',
  confirmation: '',
  confirmed: false,
  mode: 'client',
  device_code: '',
  interval: 0,
  polled: 0,
}

const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('ID tokens', () => {
  test.each<[string, Given, string | RegExp]>([
    ['a good one', {}, 'ok'],
    ['1 empty', { token: () => '' }, 'token_malformed: id_token is empty: invalid parameter'],
    ['2 not three parts', { token: () => 'a.b' }, /^token_malformed: oidc: malformed jwt: .*three parts$/],
    ['2 no object', { token: () => rsa.sign('[1]') }, /^token_malformed: oidc: malformed jwt: payload/],
    ['2 a name twice', { token: () => rsa.sign(`{"iss":"x","iss":"${issuer}"}`) }, /^token_malformed: /],
    [
      '2 a crit header',
      { token: (claims) => rsa.sign(claims, { crit: ['x'], x: 1 }) },
      /^token_malformed: oidc: malformed jwt: unsupported crit/,
    ],
    [
      '2 nonce no text',
      { claims: { nonce: 5 } },
      /^claim_type_invalid: oidc: failed to unmarshal claims: nonce$/,
    ],
    ['2 aud of numbers', { claims: { aud: [1] } }, /^claim_type_invalid: .* aud$/],
    ['2 exp a text', { claims: { exp: 'soon' } }, /^claim_type_invalid: .* exp$/],
    ['2 exp an empty text', { claims: { exp: '' } }, /^claim_type_invalid: .* exp$/],
    [
      '2 quoted times',
      { claims: { exp: String(now), nbf: String(now), iat: String(now - 5), auth_time: String(now - 5) } },
      'ok',
    ],
    ...[`${now}.5`, ` ${now}`, `${now} `, `+${now}`, `-${now}`, '1e9', '0x10'].map(
      (exp): [string, Given, RegExp] => [
        `2 exp a text ${exp}`,
        { claims: { exp } },
        /^claim_type_invalid: .* exp$/,
      ],
    ),
    ['2 a quoted time that is over', { claims: { exp: String(now - 1) } }, /^expired: /],
    [
      '3 claims elsewhere, said where',
      { claims: { _claim_names: { g: 's' }, _claim_sources: { s: { endpoint: 'https://x' } } } },
      'ok',
    ],
    [
      '3 a source that is not there',
      { claims: { _claim_names: { g: 's' } } },
      'claim_type_invalid: oidc: source does not exist',
    ],
    [
      '3 an inherited name is not a source',
      { claims: { _claim_names: { g: 'constructor' }, _claim_sources: {} } },
      /source does not exist$/,
    ],
    [
      '3 a source that is not a text',
      { claims: { _claim_names: { g: 5 } } },
      'claim_type_invalid: oidc: failed to obtain source from claim name',
    ],
    [
      '4 another issuer',
      { claims: { iss: `${issuer}/` } },
      `issuer_mismatch: oidc: id token issued by a different provider, expected "${issuer}" got "${issuer}/": invalid issuer`,
    ],
    ['4 no issuer', { claims: { iss: undefined } }, /^issuer_mismatch: .* got "": invalid issuer$/],
    ['4 bound_issuer does not count', { config: { bound_issuer: 'https://nobody' } }, 'ok'],
    [
      '4 Google',
      {
        config: { oidc_discovery_url: 'https://accounts.google.com' },
        claims: { iss: 'accounts.google.com' },
      },
      'ok',
    ],
    ['4 nobody else without scheme', { claims: { iss: 'idp.example' } }, /^issuer_mismatch: /],
    ['5 ends now', { claims: { exp: now } }, 'ok'],
    [
      '5 ended',
      { claims: { exp: now - 1 } },
      'expired: oidc: token is expired (Token Expiry: 2027-01-15T07:59:59Z): token is expired',
    ],
    ['5 no end', { claims: { exp: undefined } }, /^expired: /],
    ['5 an end far off', { claims: { exp: 1e300 } }, 'ok'],
    ['6 begins in five minutes', { claims: { nbf: now + 300 } }, 'ok'],
    [
      '6 begins later',
      { claims: { nbf: now + 301 } },
      /^not_yet_valid: oidc: current time .* before the nbf \(not before\) time: .*: invalid not before$/,
    ],
    [
      '7 not RS256',
      { token: (claims) => ec.sign(claims) },
      'algorithm_not_allowed: oidc: malformed jwt: unexpected signature algorithm "ES256"; expected ["RS256"]: unsupported signing algorithm',
    ],
    [
      '7 ES256 where it may',
      { config: { jwt_supported_algs: 'ES256' }, token: (claims) => ec.sign(claims) },
      'ok',
    ],
    ['7 RS256 where it may not', { config: { jwt_supported_algs: 'ES256' } }, /^algorithm_not_allowed: /],
    [
      '7 none',
      { token: (claims) => `${part({ alg: 'none' })}.${part(claims)}.` },
      /^algorithm_unsupported: .*"none"; expected \["RS256"\]/,
    ],
    [
      '7 HS256 with the public key',
      { token: (claims) => signedWithSecret(rsa.pem, claims) },
      /^algorithm_unsupported: /,
    ],
    [
      '8 another key',
      { token: (claims) => aSigner('RS256', { kid: 'k1' }).sign(claims) },
      /^signature_invalid: failed to verify signature: .*: invalid signature$/,
    ],
    [
      '8 an unknown key',
      { token: (claims) => rsa.sign(claims, { kid: 'kx' }) },
      /^key_unknown: .*: invalid signature$/,
    ],
    ['8 no key id', { token: (claims) => rsa.sign(claims, { kid: '' }) }, 'ok'],
    [
      '8 its own key in the header',
      {
        token: (claims) => {
          const own = aSigner('RS256')
          return own.sign(claims, { jwk: own.jwk, jku: 'https://evil.example', kid: '' })
        },
      },
      /^signature_invalid: /,
    ],
    [
      '9 another nonce',
      { claims: { nonce: 'n_2' } },
      'nonce_mismatch: invalid id_token nonce: invalid nonce',
    ],
    ['9 no nonce', { claims: { nonce: undefined } }, /^nonce_mismatch: /],
    ['10 made in a minute', { claims: { iat: now + 60 } }, 'ok'],
    ['10 made later', { claims: { iat: now + 61 } }, /^issued_in_future: .*: invalid issued at \(iat\)$/],
    ['11 no subject', { claims: { sub: undefined } }, 'claim_type_invalid: sub: missing required claim'],
    ['12 no audience', { claims: { aud: undefined } }, 'audience_mismatch: aud: missing required claim'],
    ['12 an empty list', { claims: { aud: [] } }, 'audience_mismatch: aud: missing required claim'],
    ['13 bound, one of them', { login: { bound_audiences: ['x', 'abc'] } }, 'ok'],
    [
      '13 bound, none of them',
      { login: { bound_audiences: ['x'] } },
      /^audience_mismatch: .*verifyAudiences: invalid id_token audiences: invalid audience$/,
    ],
    [
      '14 several, none the client',
      { claims: { aud: ['a', 'b'] } },
      'audience_mismatch: multiple audiences ([a b]) and one of them is not equal client_id (abc): invalid audience',
    ],
    [
      '15 another party',
      { claims: { azp: 'x' } },
      'authorized_party_mismatch: authorized party (x) is not equal client_id (abc): invalid authorized party (azp)',
    ],
    ['15 a party that is not a text', { claims: { azp: 5 } }, /^authorized_party_mismatch: /],
    [
      '16 several and no party',
      { claims: { aud: ['abc', 'b'] } },
      /^authorized_party_mismatch: multiple audiences and authorized party \(<nil>\)/,
    ],
    ['16 several and the party', { claims: { aud: ['abc', 'b'], azp: 'abc' } }, 'ok'],
    [
      '17, K11 one, not the client',
      { claims: { aud: 'not_gonna_match' } },
      /^authorized_party_mismatch: one audience \(not_gonna_match\) which is not the client_id \(abc\) .*: invalid authorized party \(azp\)$/,
    ],
    ['17 one, not the client, but its party', { claims: { aud: 'x', azp: 'abc' } }, 'ok'],
    [
      '17 bound audiences are not a replacement',
      { claims: { aud: 'x' }, login: { bound_audiences: ['x'] } },
      /^authorized_party_mismatch: /,
    ],
    [
      '18 no sign-in time',
      { login: { max_age: 120 } },
      'login_too_old: missing auth_time claim when max age was requested: missing required claim',
    ],
    ['18 a quoted time', { login: { max_age: 120 }, claims: { auth_time: String(now) } }, 'ok'],
    ['18 a text', { login: { max_age: 120 }, claims: { auth_time: `${now}.5` } }, /^login_too_old: /],
    [
      '19 in time, with a minute more',
      { login: { max_age: 120 }, claims: { auth_time: now - 10 - 120 - 59 } },
      'ok',
    ],
    [
      '19 too long ago',
      { login: { max_age: 120 }, claims: { auth_time: now - 10 - 120 - 60 } },
      /^login_too_old: .*auth_time \(.*\) is beyond max age \(120 \/ .*\): expired auth_time$/,
    ],
    ['19 nobody asked', { claims: { auth_time: 0 } }, 'ok'],
  ])('%s', async (_row, given, wanted) => {
    const told = await verdict(given)
    if (typeof wanted === 'string') expect(told).toBe(wanted)
    else expect(told).toMatch(wanted)
  })

  test('all claims are checked before the signature, in order', async () => {
    const forged = (claims: object) => ({
      claims,
      token: (all: object) => aSigner('ES256', { kid: 'k1' }).sign(all),
    })
    const wrong = { _claim_names: { g: 's' }, iss: 'x', exp: 1, nbf: now + 900, nonce: 'x' }
    const order: string[] = []
    for (const [name, right] of Object.entries({ _claim_names: {}, iss: issuer, exp: now + 300, nbf: 0 })) {
      order.push((await verdict(forged(wrong))).split(':')[0] ?? '')
      Object.assign(wrong, { [name]: right })
    }
    order.push((await verdict(forged(wrong))).split(':')[0] ?? '')
    order.push(
      (await verdict({ ...forged(wrong), config: { jwt_supported_algs: 'ES256' } })).split(':')[0] ?? '',
    )
    order.push((await verdict({ claims: wrong })).split(':')[0] ?? '')

    expect(order).toEqual([
      'claim_type_invalid',
      'issuer_mismatch',
      'expired',
      'not_yet_valid',
      'algorithm_not_allowed',
      'signature_invalid',
      'nonce_mismatch',
    ])
  })
})
