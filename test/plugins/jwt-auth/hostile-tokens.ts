import { type Signer, signed, signedWithSecret } from './signer.ts'

/**
 * Malicious tokens by name, with these claims if they have any; the signer's algorithm is RS256 and its key `r`. All
 * of them must be refused.
 */
export function hostileTokens(signer: Signer, claims: object): Record<string, () => string> {
  const good = signer.sign(claims)
  const payload = JSON.stringify(claims)
  const [head = '', body = '', mac = ''] = good.split('.')
  const withHeader = (header: string) => signed('RS256', signer.privateKey, header, payload)
  const withPayload = (text: string) => signed('RS256', signer.privateKey, '{"alg":"RS256","kid":"r"}', text)
  const changed = (given: object) => withPayload(JSON.stringify({ ...claims, ...given }))
  const inPlaceOfSubject = (text: string) => withPayload(payload.replace('"sub":"alice"', text))
  return {
    'five parts': () => `${head}.${body}.${mac}.e30.e30`,
    'two parts': () => `${head}.${body}`,
    'the JSON serialisation': () => JSON.stringify({ payload: body, protected: head, signature: mac }),
    'alg none': () => `${b64('{"alg":"none"}')}.${body}.`,
    'alg none with a signature': () => `${b64('{"alg":"none"}')}.${body}.${mac}`,
    'alg NONE': () => `${b64('{"alg":"NONE"}')}.${body}.`,
    'no alg': () => `${b64('{"kid":"r"}')}.${body}.${mac}`,
    'HS256 with the PEM as secret': () => signedWithSecret(signer.pem, claims),
    'HS256 with the modulus as secret': () => signedWithSecret(String(signer.jwk['n']), claims),
    'an elliptic algorithm for an RSA key': () => withHeader('{"alg":"ES256","kid":"r"}'),
    crit: () => withHeader('{"alg":"RS256","kid":"r","crit":["exp"],"exp":1}'),
    'b64 false': () => withHeader('{"alg":"RS256","kid":"r","b64":false,"crit":["b64"]}'),
    'alg twice': () => withHeader('{"alg":"none","alg":"RS256","kid":"r"}'),
    'kid twice': () => withHeader('{"alg":"RS256","kid":"x","kid":"r"}'),
    'a kid that is not a text': () => withHeader('{"alg":"RS256","kid":["r"]}'),
    'a kid of 700 kB': () => withHeader(JSON.stringify({ alg: 'RS256', kid: 'k'.repeat(700_000) })),
    'a kid of 5 kB': () => withHeader(JSON.stringify({ alg: 'RS256', kid: 'k'.repeat(5000) })),
    'a token of 900 kB': () => changed({ pad: 'x'.repeat(670_000) }),
    'sub twice': () => inPlaceOfSubject('"sub":"alice","sub":"root"'),
    'sub twice, once escaped': () => inPlaceOfSubject('"sub":"alice","s\\u0075b":"root"'),
    'a payload of 100,000 numbers': () => withPayload(`{"sub":"alice","n":[${'1,'.repeat(100_000)}1]}`),
    'a payload nested 100,000 deep': () => withPayload(`{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`),
    'a payload that is a list': () => withPayload('[]'),
    'a padded signature': () => `${good}==`,
    'base64 instead of base64url': () => `${head}.${body}.${mac.replaceAll('-', '+').replaceAll('_', '/')}+`,
    'a signature that is not the one spelling of its bytes': () => `${head}.${body}.${respelt(mac)}`,
    'a header that is not the one spelling of its bytes': () =>
      `${respelt(`${b64('{"alg":"RS256"} ')}`)}.${body}.${mac}`,
    'no signature': () => `${head}.${body}.`,
    'the signature of another token': () =>
      `${head}.${b64(JSON.stringify({ ...claims, sub: 'root' }))}.${mac}`,
    dots: () => '.'.repeat(100_000),
    'opening braces': () => b64('{"a":'.repeat(70_000)),
    'iss a number': () => changed({ iss: 5 }),
    'exp of 1e999': () => withPayload(payload.replace(/"exp":\d+/, '"exp":1e999')),
    'aud with an object': () => changed({ aud: ['gate', {}] }),
    'sub in __proto__': () => inPlaceOfSubject('"__proto__":{"sub":"alice"}'),
  }
}

const b64 = (text: string) => Buffer.from(text).toString('base64url')

/** Another spelling of the same bytes: the unused bits of the last character set. */
function respelt(text: string): string {
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  const last = digits[digits.indexOf(text.slice(-1)) + 1] ?? 'B'
  return text.slice(0, -1) + last
}
