import { expect, test } from 'vitest'
import { checkIssuer, issuerUrl } from '../../../src/core/identity-tokens/issuer-url.ts'

const text =
  'invalid issuer, which must include only a scheme, host, and optional port (e.g. https://example.com:8200)'

test.each([
  '',
  'https://vault.example.com:8200',
  'http://vault.example.com',
  'https://[::1]:8200',
  'HTTPS://h',
])('%j is an issuer', (issuer) => {
  expect(() => checkIssuer(issuer)).not.toThrow()
})

test.each([
  'vault.example.com',
  'https://vault.example.com/',
  'https://vault.example.com/v1',
  'ftp://vault.example.com',
  'https://',
  'https://u@vault.example.com',
  'https://vault.example.com?x=1',
  'https://vault.example.com#x',
  'https://vault.example.com\\x',
  'https://h:99999',
  'https://a b',
  ' https://h',
  'https://h\n',
  'javascript:alert(1)',
])('%j is not an issuer', (issuer) => {
  expect(() => checkIssuer(issuer)).toThrow(text)
})

test('the issuer contains the namespace', () => {
  expect(issuerUrl('https://h:8200', '')).toBe('https://h:8200/v1/identity/oidc')
  expect(issuerUrl('https://h', 'a/b/')).toBe('https://h/v1/a/b/identity/oidc')
})
