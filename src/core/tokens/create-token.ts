import { refuse } from '../../errors.ts'
import { parseDuration } from '../../lib/duration.ts'
import type { Clock } from '../../lib/clock.ts'
import type { IdentityStore } from '../identity/identity-store.ts'
import type { Mount } from '../mounts/mount.ts'
import type { View } from '../barrier/view.ts'
import { authBlock, type Issued } from './auth-block.ts'
import { createdTokenName } from './display-name.ts'
import { type Lifetime, lifetime, mountTtl, type TtlBounds } from './lifetime.ts'
import { checkAssignable, childPolicies } from './policy-names.ts'
import { isRoot, type Token } from './token.ts'
import { maxIdLength } from './token-keys.ts'
import type { TokenStore } from './token-store.ts'
import { noBatchYet } from './token-type.ts'

export type CreateParts = {
  readonly tokens: TokenStore
  readonly identity: IdentityStore
  /** The view tokens and identity lie in. */
  readonly view: View
  readonly systemTtl: TtlBounds
  readonly clock: Clock
  policyExists(name: string, namespace: string): Promise<boolean> | boolean
}

/** The fields of `auth/token/create` as sent; durations are text. Contract tokens §2.2. */
export type CreateInput = {
  readonly id: string
  readonly policies: readonly string[]
  readonly meta: Readonly<Record<string, string>> | null
  readonly no_parent: boolean
  readonly no_default_policy: boolean
  readonly renewable: boolean
  readonly ttl: string
  readonly lease: string
  readonly type: string
  readonly explicit_max_ttl: string
  readonly period: string
  readonly display_name: string
  readonly num_uses: number
  readonly entity_alias: string
}

export type CreateRequest = {
  readonly mount: Mount
  /** After its use was spent. */
  readonly caller: Token
  /** The caller has `sudo` on the request path. */
  readonly sudo: boolean
  /** Which path was called. */
  readonly form: 'create' | 'create-orphan'
  readonly input: CreateInput
}

type Spans = { ttl: number; explicitMaxTtl: number; period: number }

const customIdWarning =
  'Supplying a custom ID for the token uses the weaker SHA1 hashing instead of the more secure SHA2-256 HMAC for token obfuscation. ' +
  'SHA1 hashed tokens on the wire leads to less secure lookups.'

/** Refuses a token-store role: none exist yet. Contract tokens §2.2 check 1. */
export const unknownTokenRole = (name: string) => refuse('invalid', `unknown role ${name}`)

/** Makes a service token for a caller. Contract tokens §2.2, without role and entity alias. */
export async function createToken(parts: CreateParts, request: CreateRequest): Promise<Issued> {
  const { caller, input, mount } = request
  const { policies, spans, orphan } = decide(request)
  const now = parts.clock.now()
  const life = createdLifetime(policies, spans, mountTtl(mount.config, parts.systemTtl), now)
  if (!life.ok) throw refuse('invalid', life.reason)
  if (life.ttl === 0 && caller.ttl !== 0) throw refuse('invalid', 'expiring root tokens cannot create non-expiring root tokens')
  checkCustomId(input.id)

  const minted = parts.tokens.mint(
    {
      parent: orphan ? '' : caller.accessor,
      namespace: mount.namespace,
      policies,
      path: `${mount.path}${request.form}`,
      meta: input.meta,
      display_name: createdTokenName(input.display_name),
      num_uses: input.num_uses,
      ttl: life.ttl,
      explicit_max_ttl: spans.explicitMaxTtl,
      period: spans.period,
      entity_id: orphan ? '' : caller.entity_id,
      bound_cidrs: orphan || life.ttl === 0 ? [] : caller.bound_cidrs,
      type: 'service',
      renewable: input.renewable && life.ttl > 0,
      mount_accessor: mount.accessor,
      internal: {},
    },
    input.id === '' ? undefined : input.id,
  )
  if (!orphan && (await parts.tokens.lookupByAccessor(caller.accessor)) === undefined) throw refuse('invalid', 'parent token not found')
  if (!(await parts.view.write(minted.entries))) throw refuse('invalid', 'cannot create a token with a duplicate ID')
  parts.tokens.remember(minted.token)

  const identity = minted.token.entity_id === '' ? undefined : await parts.identity.identityOf(minted.token.entity_id)
  const warnings = [...life.warnings, ...(input.id === '' ? [] : [customIdWarning]), ...(await unknownPolicies(parts, minted.token))]
  return { auth: authBlock(minted.token, minted.id, identity?.policies ?? []), warnings }
}

/** The checks of contract tokens §2.2, in their order, up to the TTL. */
function decide({ caller, sudo, form, input }: CreateRequest): { policies: string[]; spans: Spans; orphan: boolean } {
  if (caller.type === 'batch') throw refuse('invalid', 'batch tokens cannot create more tokens')
  if (caller.num_uses < 0) throw refuse('invalid', 'parent token lookup failed: no parent found')
  if (caller.num_uses > 0) throw refuse('invalid', 'restricted use token cannot generate child tokens')
  if (!['', 'service', 'batch'].includes(input.type)) throw refuse('invalid', "invalid 'token_type' value")
  if (input.type === 'batch') checkBatch(input)
  if (input.num_uses < 0) throw refuse('invalid', 'number of uses cannot be negative')
  if (input.entity_alias !== '') throw refuse('invalid', "'entity_alias' is only allowed in combination with token role")
  if (input.id !== '' && !sudo) throw refuse('invalid', 'root or sudo privileges required to specify token id')
  const policies = childPolicies({ requested: input.policies, noDefaultPolicy: input.no_default_policy, caller: caller.policies, sudo })
  checkAssignable(policies)
  if (policies.includes('root')) {
    if (!isRoot(caller)) throw refuse('invalid', 'root tokens may not be created without parent token being root')
    if (input.type === 'batch') throw refuse('invalid', 'batch tokens cannot be root tokens')
  }
  if (form === 'create' && input.no_parent && !sudo) throw refuse('invalid', 'root or sudo privileges required to create orphan token')
  const spans = spansOf(input)
  if (spans.period > 0 && !sudo) throw refuse('invalid', 'root or sudo privileges required to create periodic token')
  if (input.type === 'batch') throw noBatchYet()
  return { policies, spans, orphan: form === 'create-orphan' || input.no_parent }
}

/** Contract tokens §1.6: what a batch token cannot have. */
function checkBatch(input: CreateInput): void {
  const cannot = (field: string) => refuse('invalid', `batch tokens cannot have "${field}" set`)
  if (batchSpan('explicit_max_ttl', input.explicit_max_ttl) !== 0) throw cannot('explicit_max_ttl')
  if (input.num_uses !== 0) throw cannot('num_uses')
  if (batchSpan('period', input.period) !== 0) throw cannot('period')
}

function batchSpan(field: string, text: string): number {
  const parsed = parseDuration(text, { signed: true })
  if ('error' in parsed) throw refuse('invalid', `'${field}' value could not be parsed`)
  return parsed.seconds
}

function spansOf(input: CreateInput): Spans {
  const explicitMaxTtl = span('explicit_max_ttl', input.explicit_max_ttl)
  const period = span('period', input.period)
  const ttl = input.ttl === '' ? span('lease', input.lease) : span('ttl', input.ttl)
  return { ttl, explicitMaxTtl, period }
}

function span(field: string, text: string): number {
  const parsed = parseDuration(text, { signed: true })
  if ('error' in parsed) throw refuse('invalid', parsed.error)
  if (parsed.seconds < 0) throw refuse('invalid', `${field} must be positive`)
  return parsed.seconds
}

/** A root token without TTL and period never ends, unless it was given a hard end. */
function createdLifetime(policies: readonly string[], spans: Spans, bounds: TtlBounds, now: number): Lifetime {
  if (policies.includes('root') && spans.ttl === 0 && spans.period === 0) return { ok: true, ttl: spans.explicitMaxTtl, warnings: [] }
  return lifetime(bounds, spans, now)
}

function checkCustomId(id: string): void {
  for (const prefix of ['hvs.', 's.']) {
    if (id.startsWith(prefix)) throw refuse('invalid', `custom token ID cannot have the '${prefix}' prefix`)
  }
  if (id.includes('.')) throw refuse('invalid', "custom token ID cannot have a '.' in the value")
  if (id.length > maxIdLength) throw refuse('invalid', `custom token ID cannot be longer than ${maxIdLength} characters`)
}

async function unknownPolicies(parts: CreateParts, token: Token): Promise<string[]> {
  const warnings: string[] = []
  for (const name of token.policies) {
    if (name !== 'root' && !(await parts.policyExists(name, token.namespace))) warnings.push(`Policy "${name}" does not exist`)
  }
  return warnings
}
