import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import { commaListField, durationField } from '../../../lib/text/fields.ts'
import { quoted } from '../../../lib/text/go-text.ts'
import { formatTime } from '../../../lib/text/time.ts'
import { sanitize } from './policy-names.ts'

/**
 * What limits a token beyond its policies; what is absent limits nothing. Paths and policies are those of the token's
 * namespace. docs/contract/scopes.md
 */
export type TokenScope = {
  /** Only these of the policies count, normalized. */
  readonly policies?: readonly string[]
  /** Exact paths, and beginnings of paths that end in `*`. */
  readonly paths?: readonly string[]
  /** When the token and its children end, in milliseconds since the epoch. */
  readonly ends_at?: number
}

/** The scope that a login asks for. */
export type RequestedScope = Pick<TokenScope, 'policies' | 'paths'> & { readonly ttlSeconds?: number }

/** The fields of a login that narrow its token. docs/contract/scopes.md#fields */
export const scopeFields = {
  scope_policies: commaListField
    .optional()
    .describe('Only these of the policies that the login gives count')
    .meta({ examples: [['read-shop-db']] }),
  scope_paths: commaListField
    .optional()
    .describe('The token is good for these paths only; a final `*` covers all that begins so')
    .meta({ examples: [['kv/data/shop/db']] }),
  scope_ttl: durationField.optional().describe('The token ends after this time, renewed or not'),
}
const scopeInput = z.object(scopeFields)
export type ScopeInput = z.output<typeof scopeInput>

const maxValues = 32
/** All values of a scope: it is a part of each batch token and of each browser login that begins. */
const maxCharacters = 2_048

/** The refusal of a scope, for explain and the log. */
const scopeRefusal = (text: string) => refuse('invalid', text, { reason: 'scope_refused' })

/** The scope in the fields of a login; undefined if it asks for none. Throws `invalid`. docs/contract/scopes.md#fields */
export function requestedScope({
  scope_policies,
  scope_paths,
  scope_ttl,
}: ScopeInput): RequestedScope | undefined {
  if (scope_policies === undefined && scope_paths === undefined && scope_ttl === undefined) return undefined
  if (scope_ttl !== undefined && scope_ttl < 1) throw scopeRefusal('scope_ttl must be at least one second')
  const policies = scope_policies && sanitize(scope_policies, false)
  const paths = scope_paths && [...new Set(scope_paths.map((path) => path.replace(/^\//, '')))]
  checkLists({ scope_policies: policies, scope_paths: paths })
  return {
    ...(policies && { policies }),
    ...(paths && { paths }),
    ...(scope_ttl !== undefined && { ttlSeconds: scope_ttl }),
  }
}

function checkLists(
  lists: Readonly<Record<'scope_policies' | 'scope_paths', readonly string[] | undefined>>,
): void {
  for (const [field, values] of Object.entries(lists)) {
    // an empty list could be read as no limit as well as as no rights
    if (values?.length === 0) throw scopeRefusal(`${field} is empty: leave it out for no limit`)
    if ((values?.length ?? 0) > maxValues) throw scopeRefusal(`${field} has more than ${maxValues} values`)
  }
  const { scope_policies = [], scope_paths = [] } = lists
  if ([...scope_policies, ...scope_paths].join('').length > maxCharacters)
    throw scopeRefusal(`scope_policies and scope_paths have more than ${maxCharacters} characters`)
  for (const path of scope_paths) {
    const problem = pathProblem(path)
    if (problem !== undefined) throw scopeRefusal(`scope_paths: ${quoted(path, 64)} ${problem}`)
  }
}

function pathProblem(path: string): string | undefined {
  if (path === '') return 'is no path'
  if (path.slice(0, -1).includes('*')) return 'has a * that is not at its end'
  if (path.split('/').includes('+')) return 'has a + for a segment, which a scope does not know'
  return undefined
}

/** Throws `invalid` unless the login gives all policies of the scope. docs/contract/scopes.md#fields */
export function checkScope({ policies = [] }: RequestedScope, given: readonly string[]): void {
  const known = new Set(given)
  const unknown = policies.filter((name) => !known.has(name))
  if (unknown.length > 0)
    throw scopeRefusal(
      `scope_policies: the login does not give ${unknown.map((name) => quoted(name, 64)).join(', ')}`,
    )
}

/** The scope of a token that is issued now. */
export const scopeFrom = ({ ttlSeconds, ...limits }: RequestedScope, now: number): TokenScope => ({
  ...limits,
  ...(ttlSeconds !== undefined && { ends_at: now + ttlSeconds * 1000 }),
})

/** The limits of a scope as answers show them; nothing without a scope. */
export const shownScope = ({ policies, paths, ends_at }: TokenScope = {}) => ({
  ...(policies && { scope_policies: policies }),
  ...(paths && { scope_paths: paths }),
  ...(ends_at !== undefined && { scope_expire_time: formatTime(ends_at) }),
})
