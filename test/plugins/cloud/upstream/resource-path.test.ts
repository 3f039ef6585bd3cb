import { expect, test } from 'vitest'
import { resourcePath } from '../../../../src/plugins/cloud/upstream/resource-path.ts'

test.each([
  { text: '/subscriptions/a/resourceGroups/web', path: '/subscriptions/a/resourceGroups/web' },
  { text: 'subscriptions/a', path: '/subscriptions/a' },
  { text: '//subscriptions//a/', path: '/subscriptions/a' },
  { text: '', path: '' },
  { text: '/', path: '' },
  { text: '/resourceGroups/my web (1)', path: '/resourceGroups/my%20web%20(1)' },
  { text: '/a/...', path: '/a/...' },
  { text: '/größe', path: '/gr%C3%B6%C3%9Fe' },
])('"$text" is converted to "$path"', ({ text, path }) => {
  expect(resourcePath(text)).toBe(path)
})

test.each([
  '/a?b',
  '/a#b',
  '/a/../b',
  '/a/./b',
  '..',
  '/a/%2e%2E/b',
  '/a\\b',
  '/a\nb',
  '/a\u0000',
  '/a\u007f',
  '/\ud800',
  `/${'a'.repeat(2048)}`,
])('%j is refused', (text) => {
  expect(resourcePath(text)).toBeUndefined()
})

test('every accepted path stays below the address that it is appended to', () => {
  for (const text of ['@evil', '//evil/x', 'https://evil/x', '/:80', '/a;b', '/a%2f..%2fb', "/a'b"]) {
    const url = URL.parse(`https://arm.test${resourcePath(text)}/providers/x`)
    expect([url?.host, url?.search, url?.hash, url?.pathname.endsWith('/providers/x')]).toEqual([
      'arm.test',
      '',
      '',
      true,
    ])
  }
})
