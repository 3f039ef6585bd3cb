import { createHash } from 'node:crypto'
import type { ReasonCode } from '../refusal.ts'

/** A page for a browser, with the headers that keep it harmless. */
export type Page = {
  readonly status: number
  readonly contentType: string
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
  /** Why it is an error page, where a reason has a name. */
  readonly reason?: ReasonCode
}

const named: Readonly<Record<string, string>> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' }
const escaped = (text: string): string => text.replace(/[&<>"']/g, (character) => named[character] ?? '')

/** A JSON text that ends no script element and no line of script, whatever it holds. */
const scriptText = (text: string): string =>
  JSON.stringify(text).replace(/[<>&\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`)

function page(status: number, title: string, content: string, script = ''): Page {
  const allowed = script === '' ? '' : `; script-src 'sha256-${createHash('sha256').update(script).digest('base64')}'`
  const element = script === '' ? '' : `<script>${script}</script>`
  return {
    status,
    contentType: 'text/html',
    body: `<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title></head><body>${content}${element}</body></html>\n`,
    headers: {
      'content-security-policy': `default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'${allowed}`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    },
  }
}

/** Why a browser's login cannot go on. Contract jwt-oidc §5.5. */
export const errorPage = (summary: string, detail: string): Page => page(400, summary, `<h1>${escaped(summary)}</h1><p>${escaped(detail)}</p>`)

/** Tells the window that opened the login that what the provider sent has been kept. Contract jwt-oidc §5.5 row 6. */
export function completedPage({ mount, state }: { mount: string; state: string }): Page {
  const message = `{source: "oidc-callback", path: ${scriptText(mount)}, code: "no_code", state: ${scriptText(state)}}`
  return page(200, 'Complete sign-in process', '<p>Completing the sign-in process...</p>', `window.opener.postMessage(${message}, window.origin)`)
}
