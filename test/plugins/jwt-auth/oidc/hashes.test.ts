import { expect, test } from 'vitest'
import { hashMatches } from '../../../../src/plugins/jwt-auth/oidc/exchange.ts'

// the left half of the digest of the text `token`, computed with openssl
const vectors = {
  256: 'PEaenWxYddN6Q_NT1PiOYQ',
  384: 'Cm6hANx1qgPTYYSWu3KFaieklEAsPkh3',
  512: 'ImXaughy_DrvFp0Hk2XlkPDLyO1GwqeYTIpkKAPP2Ww',
}

test.each([
  ['RS256', vectors[256], true],
  ['PS256', vectors[256], true],
  ['ES256', vectors[256], true],
  ['RS384', vectors[384], true],
  ['ES384', vectors[384], true],
  ['PS512', vectors[512], true],
  ['ES512', vectors[512], true],
  ['RS256', vectors[384], false],
  ['RS384', vectors[256], false],
  ['RS256', `${vectors[256]}==`, false],
  ['RS256', vectors[256].toLowerCase(), false],
  ['RS256', '', false],
  // the specifications define no hash for it
  ['EdDSA', 'anything', true],
  ['RS256', undefined, true],
  ['RS256', 5, true],
  ['RS256', null, true],
])('with %s, the hash claim %j matches: %s', (algorithm, claim, matches) => {
  expect(hashMatches(claim, 'token', algorithm)).toBe(matches)
})
