import type { Answer, Asked } from './hosts.ts'

/** The group memberships of people in Microsoft Graph. The token determines the person, not the path. */
export class Graph {
  /** Object ids of a person's groups, by access token. */
  readonly groupsByToken = new Map<string, string[]>()
  /** Greatest number of ids in one response. The real service returns up to 11,000, and refuses beyond. */
  pageSize = 11_000

  /** `me/getMemberObjects` and `users/<id>/getMemberObjects`, also with a tenant before them. */
  readonly handle = ({ method, url, headers, body }: Asked): Answer => {
    const groups = this.groupsByToken.get(/^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? '')
    if (groups === undefined)
      return failure(
        401,
        'InvalidAuthenticationToken',
        'Access token is empty, or validation failure. Invalid audience.',
      )
    if (!/^\/v1\.0\/(?:[^/]+\/)?(?:me|users\/[^/]+)\/getMemberObjects$/.test(url.pathname)) {
      return failure(
        400,
        'BadRequest',
        `Resource not found for the segment '${url.pathname.split('/').at(-1)}'.`,
      )
    }
    const start = Number(url.searchParams.get('$skiptoken') ?? 0)
    if (start > 0 && method === 'GET') return this.#page(groups, start, url)
    if (method !== 'POST')
      return failure(
        405,
        'Request_BadRequest',
        `Specified HTTP method is not allowed for the request target.`,
      )
    if (!isQuestion(headers['content-type'], body))
      return failure(400, 'Request_BadRequest', "The property 'securityEnabledOnly' is required.")
    return this.#page(groups, 0, url)
  }

  #page(groups: readonly string[], start: number, url: URL): Answer {
    const end = start + this.pageSize
    const next = new URL(url)
    next.searchParams.set('$skiptoken', String(end))
    const more = end < groups.length ? { '@odata.nextLink': next.href } : {}
    return {
      status: 200,
      body: {
        '@odata.context': `${url.origin}/v1.0/$metadata#Collection(Edm.String)`,
        ...more,
        value: groups.slice(start, end),
      },
    }
  }
}

function isQuestion(type: string | undefined, body: string): boolean {
  try {
    return (
      type?.startsWith('application/json') === true &&
      typeof JSON.parse(body).securityEnabledOnly === 'boolean'
    )
  } catch {
    return false
  }
}

const failure = (status: number, code: string, message: string): Answer => ({
  status,
  body: { error: { code, message, innerError: { 'request-id': 'r1' } } },
})

/** Graph's response to too many requests. */
export const throttledByGraph: Answer = {
  status: 429,
  headers: { 'retry-after': '10' },
  body: { error: { code: 'TooManyRequests', message: 'Too many requests. Please wait.' } },
}
