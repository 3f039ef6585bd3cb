import { expect, test } from 'vitest'
import { isEmail } from '../../../../src/plugins/jwt-auth/cel/language/email.ts'

// what https://pkg.go.dev/net/mail#ParseAddress reads
test.each([
  'a@b.c',
  'a@b',
  ' a@b.c\t',
  'jdoe+tag.x@machine.example',
  "o'neil!#$%&*/=?^_`{|}~-@b.c",
  'é@bücher.example',
  '"a b"@b.c',
  '"a\\"<b>"@b.c',
  'a@[127.0.0.1]',
  'a@[::1]',
  'a@ b.c',
  '<a@b.c>',
  '< a@b.c>',
  'A B <a@b.c>',
  'A.B. <a@b.c>',
  '.A..B. <a@b.c>',
  '"A, B" <a@b.c>',
  'A "B" C<a@b.c>',
  'A (comment (in it)) B <a@b.c>',
  'a@b.c (A B)',
  'a@b.c (A \\) B)',
  'a@b.c (A) (B)',
  '=?utf-8?q?J=C3=B6rg?= <a@b.c>',
  'A =?x-none?q?B?= <a@b.c>',
  '=?x-none?q?=?= <a@b.c>',
  'team: a@b.c;',
  'team: A <a@b.c>; (all)',
  `${'a'.repeat(70)}@b.c`,
])('%s is an e-mail address', (text) => {
  expect(isEmail(text)).toBe(true)
})

test.each([
  '',
  ' ',
  'nope',
  '@b.c',
  'a@',
  'a@b@c',
  'a @b.c',
  'a b@c.d',
  '.a@b.c',
  'a.@b.c',
  'a..b@c.d',
  'a@.b',
  'a@b.',
  'a@b..c',
  'a@b c',
  'a@b,c',
  'a@b.c, d@e.f',
  'a@b.c;',
  'a@b.c>',
  '<a@b.c',
  '<a@b.c >',
  '<>',
  'A <>',
  'A B a@b.c',
  'A <a@b.c> x',
  'A, B <a@b.c>',
  'A <a@b.c> <d@e.f>',
  '""@b.c',
  '"a@b.c',
  '"a\u0007"@b.c',
  'a\u0007@b.c',
  'a\n@b.c',
  'a@b.c\n',
  'a@[127.0.0.1',
  'a@[IPv6:::1]',
  'a@[fe80::1%eth0]',
  'a@[nope]',
  'a@b.c (A',
  'A (B <a@b.c>',
  '(A) a@b.c',
  '=?x-none?q?B?= <a@b.c>',
  'a@b.c (=?x-none?b?QQ==?=)',
  'team:;',
  'team: a@b.c, d@e.f;',
  'team: a@b.c',
  'team: inner: a@b.c;;',
  'team: a@b.c;;',
])('%j is no e-mail address', (text) => {
  expect(isEmail(text)).toBe(false)
})

test('a long text is read once, not once for each character', () => {
  for (const text of ['a'.repeat(500_000), '"'.repeat(500_000), 'a.'.repeat(250_000), 'a '.repeat(250_000)]) {
    expect(isEmail(text)).toBe(false)
    expect(isEmail(`team: ${text}`)).toBe(false)
  }
  expect(isEmail(`"${'a'.repeat(1_000_000)}"@b.c`)).toBe(true)
})
