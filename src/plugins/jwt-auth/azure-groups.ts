import { OutboundError } from '../../core/outbound.ts'
import { excerpt, quoted } from '../../lib/go-text.ts'
import { lookupClaim, setClaim } from '../../lib/json-pointer.ts'
import type { ProviderReach } from './provider-reach.ts'
import { type Refusal, refusal } from './refusal.ts'
import type { StrictObject } from './strict-json.ts'

const ownGroupsUrl = 'https://graph.microsoft.com/v1.0/me/getMemberObjects'
/** Hosts that are gone, and those that answer in their place. */
const successors: ReadonlyMap<string, string> = new Map([
  ['graph.windows.net', 'graph.microsoft.com'],
  ['graph.microsoftazure.us', 'graph.microsoft.us'],
])

/** `fetch_groups`: the groups of who the access token belongs to, whatever the token says. Contract jwt-oidc §6.2. */
export async function fetchOwnGroups(claims: StrictObject, groupsClaim: string, reach: ProviderReach): Promise<Refusal | undefined> {
  const failure = await fetchInto(claims, groupsClaim, ownGroupsUrl, reach)
  return failure === undefined ? undefined : unavailable(`unable to fetch groups from Microsoft Graph API: ${failure}`)
}

/** A token with too many groups names the place to ask instead (a distributed claim). Contract jwt-oidc §5.10, §6.2. */
export async function fetchGroupsElsewhere(claims: StrictObject, groupsClaim: string, reach: ProviderReach): Promise<Refusal | undefined> {
  const endpoint = endpointOf(claims, groupsClaim)
  if ('unknown' in endpoint) return unavailable(`unable to get claim sources: ${endpoint.unknown}`)
  const failure = await fetchInto(claims, groupsClaim, endpoint.url, reach)
  return failure === undefined ? undefined : unavailable(`${quoted(groupsClaim)} claim not found in token: ${failure}`)
}

const unavailable = (text: string): Refusal => refusal('groups_unavailable', text)

function endpointOf(claims: StrictObject, groupsClaim: string): { readonly url: string } | { readonly unknown: string } {
  const source = lookupClaim(claims, `/_claim_names/${groupsClaim}`)
  if (typeof source !== 'string') return { unknown: `unable to locate groups claim ${quoted(groupsClaim)} in _claim_names` }
  const path = `/_claim_sources/${source}/endpoint`
  const endpoint = lookupClaim(claims, path)
  return typeof endpoint === 'string' ? { url: currentUrl(endpoint) } : { unknown: `unable to locate ${excerpt(path)} in claims` }
}

function currentUrl(text: string): string {
  const url = URL.parse(text)
  const host = url === null ? undefined : successors.get(url.hostname)
  if (url === null || host === undefined) return text
  url.hostname = host
  url.pathname = `/v1.0${url.pathname}`
  return url.href
}

/** Puts the groups where the claim is looked for; or says what went wrong. */
async function fetchInto(claims: StrictObject, groupsClaim: string, url: string, reach: ProviderReach): Promise<string | undefined> {
  const { outbound, caPem, accessToken, signal } = reach
  if (accessToken === undefined) return 'token unavailable to call Microsoft Graph API'
  if (accessToken === '') return 'access token is empty. Cannot call Microsoft Graph API'
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${accessToken}` }
  try {
    const answer = await outbound.post(url, '{"securityEnabledOnly": false}', { caPem, headers, signal })
    const body = answer.body.toString('utf8')
    if (answer.status !== 200) return `failed to get groups: ${excerpt(body)}`
    const groups = groupsOf(body)
    if (groups === undefined) return 'unabled to decode response: not a JSON object'
    setClaim(claims, groupsClaim, groups)
    return undefined
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error
    return `unable to call Microsoft Graph API: ${error.message}`
  }
}

/** An answer without any is one of nobody's groups. */
function groupsOf(body: string): readonly unknown[] | undefined {
  try {
    const answer: unknown = JSON.parse(body)
    if (typeof answer !== 'object' || answer === null) return undefined
    const value = 'value' in answer ? (answer.value ?? []) : []
    return Array.isArray(value) ? value : undefined
  } catch {
    return undefined
  }
}
