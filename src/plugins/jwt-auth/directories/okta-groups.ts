import { RE2JS, RE2JSException } from 're2js'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import {
  addPage,
  DirectoryError,
  jsonOf,
  member,
  type ProviderAccess,
  ProviderCalls,
  pathStep,
  shownBody,
  textMember,
  UnknownPersonError,
} from './provider-calls.ts'

/** Options of `okta`, docs/contract/login-providers.md#okta */
export type OktaOptions = {
  /** Scheme and host. */
  readonly origin: string
  readonly apiToken: string
  /** Claim with the id at Okta; the role's user claim if empty. */
  readonly userIdClaim: string
}

const maxPages = 200
/** Longest filter; the cost of compiling it grows with its length. */
const maxFilterLength = 1024

/**
 * Compiles a filter of names in Go's regular expressions, which match in linear time; or returns why it
 * cannot.
 */
export function groupsFilter(expression: string): RE2JS | { readonly problem: string } {
  if (expression.length > maxFilterLength) return { problem: `longer than ${maxFilterLength} characters` }
  try {
    return RE2JS.compile(expression)
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error
    return { problem: error.message }
  }
}

/** All groups of a person at Okta, page by page. */
export async function fetchOktaGroups(
  claims: StrictObject,
  options: OktaOptions,
  access: ProviderAccess,
): Promise<readonly string[]> {
  const id = userIdOf(claims, options.userIdClaim || access.userClaim)
  const calls = new ProviderCalls(access, maxPages)
  const headers = { authorization: `SSWS ${options.apiToken}` }
  const names: string[] = []
  const seen = new Set<string>()
  for (let url: string | undefined = `${options.origin}/api/v1/users/${id}/groups`; url !== undefined; ) {
    if (seen.size === maxPages || seen.has(url)) {
      throw new DirectoryError(
        `okta API pagination exceeded ${maxPages} pages; possible circular Link header`,
      )
    }
    seen.add(url)
    const answer = await calls.get(url, { caPem: access.caPem, headers })
    if (answer.status !== 200)
      throw new DirectoryError(`okta api returned ${answer.status}: ${shownBody(answer, options.apiToken)}`)
    const page = jsonOf(answer)
    if (!Array.isArray(page)) throw new DirectoryError('okta api returned no list')
    addPage(
      names,
      page.map((group) => textMember(member(group, 'profile'), 'name')).filter((name) => name !== ''),
    )
    url = nextPage(answer.headers.link, url)
  }
  return names
}

/** As encoded in the path. */
function userIdOf(claims: StrictObject, claim: string): string {
  if (claim === '') throw new UnknownPersonError('user_id_claim is unset and role has no user_claim')
  const id = lookupClaim(claims, claim)
  if (id === undefined)
    throw new UnknownPersonError(`unable to locate ${quoted(claim)} in claims for Okta user lookup`)
  if (typeof id !== 'string')
    throw new UnknownPersonError(`claim ${quoted(claim)} is not a string; cannot use for Okta user lookup`)
  if (id === '')
    throw new UnknownPersonError(`claim ${quoted(claim)} is empty; cannot use for Okta user lookup`)
  const step = pathStep(id)
  // the owner of the API token
  if (step === undefined || id.toLowerCase() === 'me')
    throw new UnknownPersonError(`claim ${quoted(claim)} names nobody; cannot use for Okta user lookup`)
  return step
}

/** RFC 8288. The token is sent to no host other than the one it is for. */
function nextPage(link: string | string[] | undefined, current: string): string | undefined {
  const links = [link ?? []].flat().join(',')
  for (const part of links.split(/,\s*(?=<)/)) {
    const [, target = '', parameters = ''] = /^\s*<([^<>]*)>(.*)$/.exec(part) ?? []
    if (!/;\s*rel="?next"?\s*(?:;|$)/i.test(parameters)) continue
    const url = URL.parse(target, current)
    if (url === null || url.origin !== new URL(current).origin)
      throw new DirectoryError('the next page is at another host')
    return url.href
  }
  return undefined
}
