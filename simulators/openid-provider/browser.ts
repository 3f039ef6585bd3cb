/** Where a browser leaves a site: a redirect to another origin, or a form posted to one. */
export type Departure = { readonly url: URL; readonly posted: URLSearchParams | undefined }

type Form = { readonly action: string; readonly method: string; readonly fields: URLSearchParams }

const maxSteps = 20

/** The parts of a browser that signing in needs: cookies, redirects and forms. */
export class Browser {
  readonly #cookies = new Map<string, string>()

  /** Opens a URL and follows redirects and forms, filled in with `typed`, until it leaves the site. */
  async visit(start: string, typed: Readonly<Record<string, string>>): Promise<Departure> {
    const { origin } = new URL(start)
    let url = new URL(start)
    let sent: URLSearchParams | undefined
    for (let step = 0; step < maxSteps; step++) {
      const answer = await this.#open(url, sent)
      const location = answer.headers.get('location')
      if (location !== null) {
        url = new URL(location, url)
        sent = undefined
        if (url.origin !== origin) return { url, posted: undefined }
        continue
      }
      const page = await answer.text()
      const form = firstForm(page, typed)
      if (form === undefined)
        throw new Error(`status ${answer.status}, a page without a form: ${page.slice(-1500)}`)
      url = new URL(form.action, url)
      sent = form.fields
      if (url.origin !== origin) return { url, posted: form.fields }
    }
    throw new Error('too many redirects and forms')
  }

  async #open(url: URL, sent: URLSearchParams | undefined): Promise<Response> {
    const headers = {
      cookie: [...this.#cookies].map(([name, value]) => `${name}=${value}`).join('; '),
      accept: 'text/html',
    }
    const answer = await fetch(url, {
      redirect: 'manual',
      headers,
      ...(sent === undefined ? {} : { method: 'POST', body: sent }),
    })
    for (const line of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') this.#cookies.delete(name)
      else this.#cookies.set(name, value)
    }
    return answer
  }
}

function firstForm(page: string, typed: Readonly<Record<string, string>>): Form | undefined {
  const [, head = '', inside = ''] = /<form([^>]*)>(.*?)<\/form>/is.exec(page) ?? []
  const action = attribute(head, 'action')
  if (action === undefined) return undefined
  const inputs = [...inside.matchAll(/<input([^>]*)>/gi)].map(([, attributes = '']) => attributes)
  const fields = inputs.flatMap((attributes): [string, string][] => {
    const name = attribute(attributes, 'name')
    return name === undefined ? [] : [[name, typed[name] ?? attribute(attributes, 'value') ?? '']]
  })
  return { action, method: attribute(head, 'method') ?? 'get', fields: new URLSearchParams(fields) }
}

function attribute(attributes: string, name: string): string | undefined {
  const [, value] = new RegExp(`\\b${name}="([^"]*)"`, 'i').exec(attributes) ?? []
  return value
    ?.replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
}
