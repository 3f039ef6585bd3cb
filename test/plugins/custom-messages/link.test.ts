import { expect, test } from 'vitest'
import { linkScheme } from '../../../src/plugins/custom-messages/link.ts'

test.each([
  ['https://example.org', undefined],
  ['HTTP://example.org', undefined],
  ['mailto:ops@example.org', undefined],
  ['www.example.com', undefined],
  ['/docs?a=javascript:x', undefined],
  ['//example.org', undefined],
  ['#top', undefined],
  ['', undefined],
  ['javascript:alert(1)', 'javascript'],
  ['JavaScript:alert(1)', 'javascript'],
  [' \u0000\u001fjavascript:alert(1)', 'javascript'],
  ['ftp://[', 'ftp'],
  ['java\nscript:alert(1)', 'javascript'],
  ['java\tscr\r\nipt\n:alert(1)', 'javascript'],
  ['data:text/html,x', 'data'],
  ['ftp://example.org', 'ftp'],
  ['web+x.y-z:1', 'web+x.y-z'],
  ['localhost:8200/ui', 'localhost'],
])('%j has the scheme %s', (href, scheme) => {
  expect(linkScheme(href)).toBe(scheme)
})
