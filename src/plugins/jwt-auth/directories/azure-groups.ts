import type { OutboundResponse } from '../../../core/outbound/outbound.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { excerpt, quoted } from '../../../lib/text/go-text.ts'
import { parsedJson } from '../../../lib/text/json.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import { discreetRefusal, type Refusal, refusal, reworded } from '../../../logins/refusals/refusal.ts'
import {
  addPage,
  DirectoryError,
  directoryUnavailable,
  member,
  type ProviderAccess,
  ProviderCalls,
  shownBody,
  textMember,
} from './provider-calls.ts'

/** The groups as the response has them. */
type Fetched = { readonly groups: readonly unknown[]; readonly isFetched: true }

const ownGroupsUrl = 'https://graph.microsoft.com/v1.0/me/getMemberObjects'
/** Retired hosts, and their replacements. */
const successors: ReadonlyMap<string, string> = new Map([
  ['graph.windows.net', 'graph.microsoft.com'],
  ['graph.microsoftazure.us', 'graph.microsoft.us'],
])

/**
 * `fetch_groups`: the groups of the access token's owner, whatever the token says.
 * docs/contract/login-providers.md#azure
 */
export async function fetchOwnGroups(access: ProviderAccess): Promise<Fetched | Refusal> {
  const fetched = await fetchGroups(ownGroupsUrl, access)
  return 'reason' in fetched
    ? reworded(fetched, (text) => `unable to fetch groups from Microsoft Graph API: ${text}`)
    : fetched
}

/**
 * A token with too many groups names the address to ask instead (a distributed claim).
 * docs/contract/oidc.md#the-callback-in-this-order, docs/contract/login-providers.md#azure
 */
export async function fetchGroupsElsewhere(
  claims: StrictObject,
  groupsClaim: string,
  access: ProviderAccess,
): Promise<Fetched | Refusal> {
  const endpoint = endpointOf(claims, groupsClaim)
  if ('unknown' in endpoint) return unavailable(`unable to get claim sources: ${endpoint.unknown}`)
  const fetched = await fetchGroups(endpoint.url, access)
  return 'reason' in fetched
    ? reworded(fetched, (text) => `${quoted(groupsClaim)} claim not found in token: ${text}`)
    : fetched
}

const unavailable = (text: string): Refusal => refusal('groups_unavailable', text)
const failed = (cause: string): Refusal =>
  discreetRefusal('groups_unavailable', { text: directoryUnavailable, cause })

function endpointOf(
  claims: StrictObject,
  groupsClaim: string,
): { readonly url: string } | { readonly unknown: string } {
  const source = lookupClaim(claims, `/_claim_names/${groupsClaim}`)
  if (typeof source !== 'string')
    return { unknown: `unable to locate groups claim ${quoted(groupsClaim)} in _claim_names` }
  const path = `/_claim_sources/${source}/endpoint`
  const endpoint = lookupClaim(claims, path)
  return typeof endpoint === 'string'
    ? { url: currentUrl(endpoint) }
    : { unknown: `unable to locate ${excerpt(path)} in claims` }
}

function currentUrl(text: string): string {
  const url = URL.parse(text)
  const host = url === null ? undefined : successors.get(url.hostname)
  if (url === null || host === undefined) return text
  url.hostname = host
  url.pathname = `/v1.0${url.pathname}`
  return url.href
}

/** Fetches all pages. The access token is sent to no host other than the one it is for. */
async function fetchGroups(url: string, access: ProviderAccess): Promise<Fetched | Refusal> {
  const { caPem, accessToken } = access
  if (accessToken === undefined) return unavailable('token unavailable to call Microsoft Graph API')
  if (accessToken === '') return unavailable('access token is empty. Cannot call Microsoft Graph API')
  const options = {
    caPem,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` },
  }
  const calls = new ProviderCalls(access)
  const groups: unknown[] = []
  try {
    let answer = await calls.post(url, '{"securityEnabledOnly": false}', options)
    for (;;) {
      if (answer.status !== 200) return failed(`failed to get groups: ${shownBody(answer, accessToken)}`)
      const page = pageOf(answer)
      if (page === undefined) return failed('unabled to decode response: not a JSON object')
      addPage(groups, page.value)
      if (page.next === '') return { groups, isFetched: true }
      if (URL.parse(page.next)?.origin !== new URL(url).origin)
        return failed('the next page is at another host')
      answer = await calls.get(page.next, options)
    }
  } catch (error) {
    if (!(error instanceof DirectoryError)) throw error
    return failed(`unable to call Microsoft Graph API: ${error.message}`)
  }
}

/** A response without a list means no groups. */
function pageOf({
  body,
}: OutboundResponse): { readonly value: readonly unknown[]; readonly next: string } | undefined {
  const answer = parsedJson(body.toString('utf8'))
  if (typeof answer !== 'object' || answer === null) return undefined
  const value = member(answer, 'value') ?? []
  return Array.isArray(value) ? { value, next: textMember(answer, '@odata.nextLink') } : undefined
}
