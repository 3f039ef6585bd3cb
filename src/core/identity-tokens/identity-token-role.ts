import { z } from 'zod'
import { refuse } from '../../errors.ts'
import { base62, type Random } from '../../lib/system/random.ts'
import { isBase64 } from '../../lib/text/base64.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { recordReader } from '../records/stored-record.ts'
import { type ClaimTemplate, parseClaimTemplate } from './claim-template.ts'
import type { KeySettings } from './named-key.ts'

/**
 * Determines the key, lifetime, audience and claims of identity tokens.
 * docs/contract/identity-tokens.md#roles
 */
export type IdentityTokenRole = {
  /** Name of the signing key. */
  readonly key: string
  /** Lifetime of the tokens in seconds. */
  readonly ttl: number
  readonly template: string
  /** Audience of the tokens. */
  readonly client_id: string
}

export type SentIdentityTokenRole = Partial<IdentityTokenRole>

/** A role with its parsed template. */
export type ReadyRole = { readonly role: IdentityTokenRole; readonly claims: ClaimTemplate }

const newRole: IdentityTokenRole = { key: '', ttl: 86_400, template: '', client_id: '' }
const clientIdLength = 26

/** The role after a write. Throws if it is invalid; `checkAgainstKey` checks its key. */
export function changedRole(
  before: IdentityTokenRole | undefined,
  sent: SentIdentityTokenRole,
  random: Random,
): IdentityTokenRole {
  const role = { ...(before ?? newRole), ...sent }
  if (role.key === '') throw refuse('invalid', 'the key parameter is required')
  const template = decodedTemplate(role.template)
  parseClaimTemplate(template)
  return {
    key: role.key,
    ttl: role.ttl,
    template,
    client_id: role.client_id || base62(random, clientIdLength),
  }
}

/** Throws if the role cannot use its key. */
export function checkAgainstKey(role: IdentityTokenRole, key: KeySettings | undefined): void {
  if (key === undefined) throw refuse('invalid', `cannot find key ${quoted(role.key)}`)
  if (role.ttl > key.verification_ttl)
    throw refuse(
      'invalid',
      "a role's token ttl cannot be longer than the verification_ttl of the key it references",
    )
}

/** A template that is valid base64 is decoded. */
const decodedTemplate = (text: string): string =>
  isBase64(text) ? Buffer.from(text, 'base64').toString('utf8') : text

const readRole = recordReader<IdentityTokenRole>(
  'identity token role',
  z.object({ key: z.string(), ttl: z.number(), template: z.string(), client_id: z.string() }),
)

/** Reads a stored record, with its template parsed. */
export function readIdentityTokenRole(value: unknown): ReadyRole {
  const role = readRole(value)
  return { role, claims: parseClaimTemplate(role.template) }
}
