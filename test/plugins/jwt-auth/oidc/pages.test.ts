import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { completedPage, confirmationPage, errorPage } from '../../../../src/plugins/jwt-auth/oidc/pages.ts'

const hostile = `</script><script>alert(1)</script>"'&\u2028\u2029\\`

test('no foreign text ends the script, an element or an attribute', () => {
  const { body } = completedPage({ mount: hostile, state: hostile })

  expect(body.match(/<\/?script/g)).toEqual(['<script', '</script'])
  const script = /<script>(.*)<\/script>/s.exec(body)?.[1] ?? ''
  const posted: unknown[] = []
  // the very script a browser would run
  new Function('window', script)({
    origin: 'https://h',
    opener: { postMessage: (...given: unknown[]) => posted.push(given) },
  })
  expect(posted).toEqual([
    [{ source: 'oidc-callback', path: hostile, code: 'no_code', state: hostile }, 'https://h'],
  ])
})

test('an error page shows its texts as text, and runs nothing', () => {
  const page = errorPage(hostile, '<img src=x onerror=alert(1)>')

  expect(page.status).toBe(400)
  expect(page.body).not.toMatch(/<script|<img/)
  expect(page.body).toContain('&lt;img src=x onerror=alert(1)&gt;')
  expect(page.headers['content-security-policy']).toBe(
    "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  )
})

test("only the page's own script may run, and no other page may frame it", () => {
  const { body, headers, contentType } = completedPage({ mount: 'oidc', state: 'st_x' })

  const script = /<script>(.*)<\/script>/s.exec(body)?.[1] ?? ''
  const hash = createHash('sha256').update(script).digest('base64')
  expect(headers['content-security-policy']).toContain(`script-src 'sha256-${hash}'`)
  expect(headers['content-security-policy']).toContain("frame-ancestors 'none'")
  expect(headers).toMatchObject({
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
  })
  expect(contentType).toBe('text/html')
  expect(body).toContain(
    'window.opener.postMessage({source: "oidc-callback", path: "oidc", code: "no_code", state: "st_x"}, window.origin)',
  )
})

test('the page that asks shows foreign texts as text, and sends its forms only to the server', () => {
  const { body, headers } = confirmationPage({
    state: hostile,
    confirmation: hostile,
    address: hostile,
    begunAt: 0,
    role: hostile,
    mount: hostile,
  })

  expect(body.match(/<\/?script/g)).toEqual(['<script', '</script'])
  expect(body).not.toContain('alert(1)</')
  expect([...body.matchAll(/value="([^"]*)"/g)].filter(([, value]) => /[<>']/.test(value ?? ''))).toEqual([])
  expect(headers['content-security-policy']).toContain(
    "form-action 'self'; frame-ancestors 'none'; script-src 'sha256-",
  )
  expect(body).not.toMatch(/ action=| on\w+=| style=/)
})
