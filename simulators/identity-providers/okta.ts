import type { Answer, Asked } from './hosts.ts'

/** The groups of people in an Okta organisation, in pages with `Link` headers. */
export class Okta {
  readonly apiToken = '00stand-in-token'
  /** Names of groups, by user id or login. */
  readonly groupsByUser = new Map<string, string[]>()
  pageSize = 200

  readonly handle = ({ method, url, headers }: Asked): Answer => {
    if (headers.authorization !== `SSWS ${this.apiToken}`)
      return failure(401, 'E0000011', 'Invalid token provided')
    const user = /^\/api\/v1\/users\/([^/]+)\/groups$/.exec(url.pathname)?.[1]
    if (user === undefined || method !== 'GET')
      return failure(405, 'E0000022', 'The endpoint does not support the provided HTTP method')
    const id = decodeURIComponent(user)
    const groups = this.groupsByUser.get(id)
    if (groups === undefined) return failure(404, 'E0000007', `Not found: Resource not found: ${id} (User)`)
    const start = Number(url.searchParams.get('after') ?? 0)
    const end = start + this.pageSize
    const page = groups
      .slice(start, end)
      .map((name, at) => ({
        id: `00g${start + at}`,
        type: 'OKTA_GROUP',
        profile: { name, description: null },
      }))
    const next = new URL(url)
    next.searchParams.set('after', String(end))
    const links = [
      `<${url.href}>; rel="self"`,
      ...(end < groups.length ? [`<${next.href}>; rel="next"`] : []),
    ]
    return { status: 200, headers: { link: links.join(', '), 'x-rate-limit-remaining': '499' }, body: page }
  }
}

const failure = (status: number, errorCode: string, errorSummary: string): Answer => ({
  status,
  body: { errorCode, errorSummary, errorLink: errorCode, errorId: 'oae1', errorCauses: [] },
})

/** Okta's response to too many requests. */
export const throttledByOkta: Answer = {
  status: 429,
  headers: { 'x-rate-limit-limit': '500', 'x-rate-limit-remaining': '0', 'x-rate-limit-reset': '1800000000' },
  body: {
    errorCode: 'E0000047',
    errorSummary: 'API call exceeded rate limit due to too many requests.',
    errorCauses: [],
  },
}
