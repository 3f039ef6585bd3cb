import { createHash } from 'node:crypto'
import type { ServiceError } from '../../../errors.ts'
import { formatTime } from '../../../lib/text/time.ts'
import type { ReasonCode } from '../../../logins/refusals/refusal.ts'

/** Clients split errors on this prefix. docs/contract/oidc.md#the-callback-in-this-order */
export const loginFailed = 'Vault login failed.'
export const stateUnknown = 'Expired or missing OAuth state.'

/** A page for a browser, with security headers. */
export type Page = {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** The reason of an error page, if it has a name. */
  readonly reason?: ReasonCode
  /** The refusal of the login behind an error page, if its checks were run. */
  readonly error?: ServiceError
}

const named: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => named[character] ?? '')

/** JSON that cannot end a script element or a line of script, whatever it contains. */
const scriptText = (text: string): string =>
  JSON.stringify(text).replace(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )

type PageParts = {
  readonly status?: number
  readonly title: string
  /** HTML in which all foreign text is escaped. */
  readonly content: string
  readonly script?: string
  readonly style?: string
  /** Whether it has forms, which are sent to the server only. */
  readonly hasForms?: boolean
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

function page({ status = 200, title, content, script = '', style = '', hasForms = false }: PageParts): Page {
  const policy = [
    "default-src 'none'",
    "base-uri 'none'",
    `form-action ${hasForms ? "'self'" : "'none'"}`,
    "frame-ancestors 'none'",
    ...(script === '' ? [] : [`script-src ${hashOf(script)}`]),
    ...(style === '' ? [] : [`style-src ${hashOf(style)}`]),
  ]
  const head = `<meta charset="utf-8"><title>${escaped(title)}</title>${style === '' ? '' : `<style>${style}</style>`}`
  return {
    status,
    contentType: 'text/html',
    body: `<!DOCTYPE html>\n<html lang="en"><head>${head}</head><body>${content}${script === '' ? '' : `<script>${script}</script>`}</body></html>\n`,
    headers: {
      'content-security-policy': policy.join('; '),
      'x-frame-options': 'DENY',
      'cache-control': 'no-store',
      // with no-referrer, the page's form would send `Origin: null`, which no list of origins contains
      'referrer-policy': hasForms ? 'same-origin' : 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  }
}

const titled = (title: string, text: string): string => `<h1>${escaped(title)}</h1><p>${escaped(text)}</p>`

/** Why a browser's login cannot go on. docs/contract/oidc.md#the-page-of-a-form */
export const errorPage = (summary: string, detail: string): Page =>
  page({ status: 400, title: summary, content: titled(summary, detail) })

/** Tells a person the outcome. */
export const plainPage = (title: string, text: string): Page => page({ title, content: titled(title, text) })

/**
 * Tells the window that opened the login that the provider's response may be used. If the web UI began it in this
 * tab, it goes back there; the UI keeps the state of its login in the storage of the tab.
 * docs/contract/oidc.md#the-page-of-a-form
 */
export function completedPage({ mount, state }: { mount: string; state: string }): Page {
  const message = `{source: "oidc-callback", path: ${scriptText(mount)}, code: "no_code", state: ${scriptText(state)}}`
  return page({
    title: 'Complete sign-in process',
    content: '<p>Completing the sign-in process...</p>',
    // a login that began elsewhere has no window to tell
    script: `(() => {
  let begun
  try { begun = JSON.parse(sessionStorage.getItem('gatehouse.login')) } catch {}
  if (begun?.state !== ${scriptText(state)}) return window.opener && window.opener.postMessage(${message}, window.origin)
  const back = new URL(location.href)
  back.pathname = back.pathname.replace('/v1/auth/', '/ui/vault/auth/')
  back.searchParams.set('state', begun.state)
  back.searchParams.set('code', 'no_code')
  location.replace(back)
})()`,
  })
}

/** Who asks the person to log in. `begunAt` is in milliseconds since the epoch. */
export type LoginRequest = {
  readonly state: string
  /** The one-time value that the buttons send. */
  readonly confirmation: string
  readonly address: string
  readonly begunAt: number
  readonly role: string
  readonly mount: string
}

/**
 * A click meant for another window must not count, so the button is disabled for a moment after the page
 * appears or gets the focus. It sends its form once.
 */
const guard = `(() => {
  const button = document.getElementById('confirm')
  let timer
  const wait = () => {
    button.disabled = true
    clearTimeout(timer)
    timer = setTimeout(() => { button.disabled = false }, 800)
  }
  wait()
  addEventListener('focus', wait)
  addEventListener('pageshow', wait)
  document.addEventListener('visibilitychange', wait)
  button.form.addEventListener('submit', () => { removeEventListener('focus', wait); clearTimeout(timer); button.disabled = true })
})()`

const style = `body{font:1rem/1.5 system-ui,sans-serif;max-width:40rem;margin:3rem auto;padding:0 1rem;color:#1b1b1b;background:#fff}
dl{display:grid;grid-template-columns:max-content auto;gap:.25rem 1rem}dt{color:#555}dd{margin:0;overflow-wrap:anywhere}
form{display:inline-block;margin-right:1rem}button{font:inherit;padding:.5rem 1rem}`

/**
 * Asks the person who signed in whether the login is theirs. The forms are sent to the page's own address.
 */
export function confirmationPage({ state, confirmation, address, begunAt, role, mount }: LoginRequest): Page {
  const rows = [
    ['Role', role],
    ['Login method', mount],
    ['Begun from', address === '' ? 'unknown' : address],
    ['Begun at', formatTime(begunAt)],
  ]
  const shown = rows
    .map(([name = '', value = '']) => `<dt>${escaped(name)}</dt><dd>${escaped(value)}</dd>`)
    .join('')
  const hidden = (name: string, value: string) =>
    `<input type="hidden" name="${name}" value="${escaped(value)}">`
  const sent = hidden('state', state) + hidden('confirmation', confirmation)
  return page({
    title: 'Confirm the login',
    content: `<h1>Confirm the login</h1>
<p>A login is in progress. Whoever began it gets a token in your name if you confirm.</p>
<dl>${shown}</dl>
<p>Confirm only if you began this login yourself, a moment ago. If somebody sent you a link, refuse.</p>
<form method="post">${sent}<button id="confirm">Confirm</button></form>
<form method="post">${sent}${hidden('denied', 'true')}<button>Refuse</button></form>`,
    script: guard,
    style,
    hasForms: true,
  })
}
