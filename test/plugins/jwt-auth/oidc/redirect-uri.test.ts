import { describe, expect, test } from 'vitest'
import {
  formTarget,
  isAllowedRedirect,
  mountInPath,
  takeNamespace,
} from '../../../../src/plugins/jwt-auth/oidc/redirect-uri.ts'

describe('allowed redirect URIs', () => {
  type Row = [asked: string, allowed: string[], isAllowed: boolean]
  const rows: Row[] = [
    ['https://example.com', ['https://example.com'], true],
    ['https://example.com:5000', ['a', 'b', 'https://example.com:5000'], true],
    ['https://example.com/a/b/c', ['https://example.com/a/b/c'], true],
    ['https://localhost:9000', ['https://localhost:5000'], true],
    ['https://127.0.0.1:9000', ['https://127.0.0.1:5000'], true],
    ['https://127.0.0.2:9000', ['https://127.0.0.2:5000'], true],
    ['https://[::1]:9000', ['https://[::1]:5000'], true],
    ['https://[::1]:9000/x/y?r=42', ['https://[::1]:5000/x/y?r=42'], true],
    ['https://EXAMPLE.com:5000', ['https://example.com:5000'], true],
    ['https://example.com', [], false],
    ['http://example.com', ['https://example.com'], false],
    ['https://example.com:9000', ['https://example.com:5000'], false],
    ['https://[::2]:9000', ['https://[::2]:5000'], false],
    ['https://localhost:5000', ['https://127.0.0.1:5000'], false],
    ['https://localhost:5000', ['http://localhost:5000'], false],
    ['https://[::1]:5000/x/y?r=42', ['https://[::1]:5000/x/y?r=43'], false],
    ['http://localhost:8250/oidc/callback', ['http://localhost/oidc/callback'], true],
    ['http://localhost/oidc/callback', ['http://localhost:8250/oidc/callback'], true],
    ['http://localhost:1/a', ['http://localhost:2/A'], false],
    ['http://localhost:1/a', ['http://localhost:2/a/'], false],
    ['http://localhost:1/a#f', ['http://localhost:2/a'], false],
    ['http://LOCALHOST:1/a', ['http://localhost:2/a'], false],
    ['http://user@localhost:1', ['http://user@localhost:2'], true],
    ['http://localhost:1', ['http://user@localhost:1'], false],
    ['http://localhost.example.com', ['http://localhost.example.com:1'], false],
    ['http://127.0.0.1.example.com:1', ['http://127.0.0.1.example.com:2'], false],
    ['http://127.1:1/a', ['http://127.1:2/a'], false],
    ['https://example.com/', ['https://example.com'], false],
    ['https://example.com:443', ['https://example.com'], false],
    ['https://example.com/a%20b', ['https://example.com/a b'], false],
    ['https://example.com/cb', ['https://example.com/*', 'https://*.com/cb'], false],
    ['https://evil.example.com', ['https://example.com'], false],
    ['urn:ietf:wg:oauth:2.0:oob', ['urn:ietf:wg:oauth:2.0:oob'], true],
    ['com.app:/cb', ['com.app:/cb'], true],
    ['not a uri', ['not a uri'], true],
    ['http://localhost:1/x', [':bad:%zz', 'http://localhost:2/x'], false],
    ['http://localhost:1/x', ['http://localhost:2/x', ':bad:%zz'], true],
    ['https://example.com/x', [':bad:%zz', 'https://example.com/x'], true],
    // what a browser and a URL reader could see differently
    ['http://localhost:1@evil.example/x', ['http://localhost/x'], false],
    ['http://evil.example\\@localhost:1/x', ['http://localhost/x'], false],
    ['http://localhost\\.evil.example/x', ['http://localhost/x'], false],
    ['http://localhost:1\n/x', ['http://localhost/x'], false],
    ['http://localhost:1x/x', ['http://localhost/x'], false],
    ['http://localhost:-1/x', ['http://localhost/x'], false],
    ['http://[::1]evil.example/x', ['http://[::1]/x'], false],
    ['http://[::1/x', ['http://[::1]/x'], false],
    ['//localhost:1/x', ['http://localhost/x'], false],
    ['javascript://localhost:1/%0aalert(1)', ['http://localhost/%0aalert(1)'], false],
    ['http://localhost:1/%zz', ['http://localhost:1/%zz'], false],
    [`http://localhost:${'0'.repeat(9000)}1/x`, ['http://localhost/x'], false],
  ]

  test.each(rows)('%s in %j: %s', (asked, allowed, isAllowed) => {
    expect(isAllowedRedirect(asked, allowed)).toBe(isAllowed)
  })
})

describe('the namespace of a redirect URI', () => {
  test.each([
    ['https://h/cb?namespace=test', 'https://h/cb', 'test'],
    ['https://h/cb?namespace=org4321/dev', 'https://h/cb', 'org4321/dev'],
    ['https://h/cb?z=1&namespace=a&b=x%20y#f', 'https://h/cb?b=x+y&z=1#f', 'a'],
    ['https://h/cb?namespace=a&namespace=b', 'https://h/cb', 'a'],
    ['https://h/cb?namespace=', 'https://h/cb?namespace=', ''],
    ['https://h/cb?z=%20&a', 'https://h/cb?z=%20&a', ''],
    ['https://h/cb#?namespace=a', 'https://h/cb#?namespace=a', ''],
    ['https://h/cb?namespace=%25%2C%0D%0A', 'https://h/cb', '%,\r\n'],
  ])('%s', (given, uri, namespace) => {
    expect(takeNamespace(given)).toEqual({ uri, namespace })
  })

  test.each(['https://h\r\n/cb?namespace=a', 'https://h/%zz', ':x', 'https://[::1/cb', 'https://h/cb?a\nb'])(
    '%j is not a URI',
    (given) => {
      expect(takeNamespace(given)).toBeUndefined()
    },
  )
})

test("a form is sent to the API beside the UI's page, where only the first occurrence counts", () => {
  expect(formTarget('https://h/ui/vault/auth/oidc/oidc/callback?x=ui/vault')).toBe(
    'https://h/v1/auth/oidc/oidc/callback?x=ui/vault',
  )
})

test.each([
  ['https://example.com/v1/auth/oidc', 'oidc'],
  ['https://example.com/v1/auth/oidc/foo', 'oidc'],
  ['https://example.com/v1/auth/oidc/foo/a/b/c', 'oidc'],
  ['https://h/v1/auth/deep/er/oidc/callback', 'deep'],
  ['https://h/v1/auth/a?x#y', 'a'],
  ['https://example.com', undefined],
  ['https://example.com/v1/auth/', undefined],
])('the mount in the URI %s is %s', (uri, mount) => {
  expect(mountInPath(uri)).toBe(mount)
})
