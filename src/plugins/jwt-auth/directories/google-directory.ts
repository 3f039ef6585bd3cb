import type { OutboundClient } from '../../../core/outbound/outbound.ts'
import type { StrictObject } from '../../../jwt/jws/strict-json.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { lookupClaim } from '../../../lib/text/json-pointer.ts'
import { type GoogleSignIn, type GoogleToken, okJson, signInToGoogle } from './google-credentials.ts'
import {
  addPage,
  DirectoryError,
  member,
  type ProviderAccess,
  ProviderCalls,
  pathStep,
  textMember,
  UnknownPersonError,
} from './provider-calls.ts'

/** Options of `gsuite`, docs/contract/login-providers.md#gsuite */
export type GoogleOptions = GoogleSignIn & {
  readonly domain: string
  /** How many levels of nested groups are followed upwards. */
  readonly maxDepth: number
  /** Names of schemas, separated by commas. */
  readonly customSchemas: string
}

const directoryUrl = 'https://admin.googleapis.com/admin/directory/v1'
/** A token is not used in the last minute before it expires. */
const spareMs = 60_000

/**
 * Access tokens by the options they were requested with; one serves all logins while a configuration is in
 * force.
 */
const tokenByOptions = new WeakMap<
  GoogleOptions,
  { token: Promise<GoogleToken>; expiresAt: number; outbound: OutboundClient }
>()

/**
 * The groups of a person and, as far up as the options say, the groups of those groups: their addresses,
 * without duplicates. Throws `DirectoryError`.
 */
export async function fetchGoogleGroups(
  claims: StrictObject,
  options: GoogleOptions,
  access: ProviderAccess,
): Promise<readonly string[]> {
  const directory = await openDirectory(options, access)
  // the number of calls per login is limited, so both loops end
  const found = new Set<string>()
  let members = [userKeyOf(claims, access.userClaim)]
  for (let depth = 0; depth <= options.maxDepth && members.length > 0; depth++) {
    const next: string[] = []
    for (const one of members) {
      for (const group of await groupsOf(one, options.domain, directory)) {
        if (found.has(group)) continue
        found.add(group)
        next.push(group)
      }
    }
    members = next
  }
  return [...found]
}

/** A person's custom schemas, by name. Throws `DirectoryError`. */
export async function fetchGoogleUserInfo(
  claims: StrictObject,
  options: GoogleOptions,
  access: ProviderAccess,
): Promise<ReadonlyMap<string, unknown>> {
  const user = pathStep(userKeyOf(claims, access.userClaim))
  if (user === undefined) throw new UnknownPersonError(`claim ${quoted(access.userClaim)} names nobody`)
  const directory = await openDirectory(options, access)
  const query = new URLSearchParams({
    projection: 'custom',
    customFieldMask: options.customSchemas,
    fields: 'customSchemas',
  })
  const schemas = member(await directory(`users/${user}`, query), 'customSchemas')
  return new Map(Object.entries(typeof schemas === 'object' && schemas !== null ? schemas : {}))
}

async function groupsOf(userKey: string, domain: string, directory: Directory): Promise<string[]> {
  const emails: string[] = []
  const pages = new Set<string>()
  for (let page = ''; ; ) {
    const query = {
      userKey,
      ...(domain === '' ? {} : { domain }),
      fields: 'nextPageToken,groups(email)',
      ...(page === '' ? {} : { pageToken: page }),
    }
    const answer = await directory('groups', new URLSearchParams(query))
    const groups = member(answer, 'groups') ?? []
    if (!Array.isArray(groups)) throw new DirectoryError('groups of the answer are no list')
    addPage(
      emails,
      groups.map((group) => textMember(group, 'email')).filter((email) => email !== ''),
    )
    page = textMember(answer, 'nextPageToken')
    if (page === '') return emails
    if (pages.has(page)) throw new DirectoryError('pages of the answer go round in a circle')
    pages.add(page)
  }
}

/** Reads the claim as a pointer, whatever the role says. */
function userKeyOf(claims: StrictObject, claim: string): string {
  const key = lookupClaim(claims, claim)
  if (key === undefined) throw new UnknownPersonError(`unable to locate ${quoted(claim)} in claims`)
  if (typeof key !== 'string')
    throw new UnknownPersonError(`claim ${quoted(claim)} could not be converted to string`)
  return key
}

/** Requests one path of the directory API. */
type Directory = (path: string, query: URLSearchParams) => Promise<unknown>

async function openDirectory(options: GoogleOptions, access: ProviderAccess): Promise<Directory> {
  const { text } = await tokenFor(options, access)
  const calls = new ProviderCalls(access)
  return async (path, query) => {
    const answer = await calls.get(`${directoryUrl}/${path}?${query}`, {
      headers: { authorization: `Bearer ${text}` },
    })
    // refused before it expired: the next login signs in again
    if (answer.status === 401) tokenByOptions.delete(options)
    return okJson(answer, text)
  }
}

/**
 * Concurrent logins share one sign-in, except with a client that may be blocked. After a failure, the next
 * login tries again.
 */
function tokenFor(options: GoogleOptions, { outbound, now }: ProviderAccess): Promise<GoogleToken> {
  const known = tokenByOptions.get(options)
  const isShared =
    known !== undefined && (known.expiresAt !== Number.POSITIVE_INFINITY || known.outbound === outbound)
  if (isShared && now() < known.expiresAt - spareMs) return known.token
  const token = signInToGoogle(options, { outbound, now: now() })
  const entry = { token, expiresAt: Number.POSITIVE_INFINITY, outbound }
  tokenByOptions.set(options, entry)
  const forget = () => {
    if (tokenByOptions.get(options) === entry) tokenByOptions.delete(options)
  }
  token.then(({ expiresAt }) => {
    entry.expiresAt = expiresAt
  }, forget)
  return token
}
