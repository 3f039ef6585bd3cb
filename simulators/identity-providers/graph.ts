import type { Answer, Asked } from './hosts.ts'

/** Microsoft Graph as far as groups of people go: whose token it is decides who is asked about. */
export class Graph {
  /** Object ids of groups, by access token. */
  readonly groupsByToken = new Map<string, string[]>()
  /** Most ids in one answer; the real one gives up to 11,000 in one, and refuses beyond. */
  pageSize = 11_000

  /** `me/getMemberObjects`, `users/<id>/getMemberObjects`, both also behind a tenant. */
  readonly handle = ({ method, url, headers, body }: Asked): Answer => {
    const groups = this.groupsByToken.get(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '')
    if (groups === undefined) return failure(401, 'InvalidAuthenticationToken', 'Access token is empty, or validation failure. Invalid audience.')
    if (!/^\/v1\.0\/(?:[^/]+\/)?(?:me|users\/[^/]+)\/getMemberObjects$/.test(url.pathname)) {
      return failure(400, 'BadRequest', `Resource not found for the segment '${url.pathname.split('/').at(-1)}'.`)
    }
    const start = Number(url.searchParams.get('$skiptoken') ?? 0)
    if (start > 0 && method === 'GET') return this.#page(groups, start, url)
    if (method !== 'POST') return failure(405, 'Request_BadRequest', `Specified HTTP method is not allowed for the request target.`)
    if (!isQuestion(headers['content-type'], body)) return failure(400, 'Request_BadRequest', "The property 'securityEnabledOnly' is required.")
    return this.#page(groups, 0, url)
  }

  #page(groups: readonly string[], start: number, url: URL): Answer {
    const end = start + this.pageSize
    const next = new URL(url)
    next.searchParams.set('$skiptoken', String(end))
    const more = end < groups.length ? { '@odata.nextLink': next.href } : {}
    return {
      status: 200,
      body: { '@odata.context': `${url.origin}/v1.0/$metadata#Collection(Edm.String)`, ...more, value: groups.slice(start, end) },
    }
  }
}

function isQuestion(type: string | undefined, body: string): boolean {
  try {
    return type?.startsWith('application/json') === true && typeof JSON.parse(body).securityEnabledOnly === 'boolean'
  } catch {
    return false
  }
}

const failure = (status: number, code: string, message: string): Answer => ({
  status,
  body: { error: { code, message, innerError: { 'request-id': 'r1' } } },
})

/** What Graph says to who asks too often. */
export const throttledByGraph: Answer = {
  status: 429,
  headers: { 'retry-after': '10' },
  body: { error: { code: 'TooManyRequests', message: 'Too many requests. Please wait.' } },
}
