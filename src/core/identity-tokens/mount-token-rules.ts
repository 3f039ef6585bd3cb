import { quoted } from '../../lib/text/go-text.ts'
import type { IdentityTokenUse } from '../mounts/mount-type.ts'
import { allowsClient, type KeySettings } from './named-key.ts'

/** The longest issuer, subject and audience that verifiers accept, in characters. */
const maxLength = 600

/** Why a key may not sign tokens for an audience; undefined if it may. */
export function keyProblem(
  name: string,
  settings: KeySettings,
  { audience, ttl }: IdentityTokenUse,
): string | undefined {
  const key = quoted(name)
  // verifiers of workload identities accept nothing else
  if (settings.algorithm !== 'RS256') return `key ${key} must use RS256`
  if (!allowsClient(settings, audience))
    return `the key ${key} does not list the audience ${quoted(audience)} as an allowed client ID`
  if (ttl > settings.verification_ttl)
    return `identity_token_ttl cannot be longer than the verification_ttl of key ${key}`
  return undefined
}

/** Which of these is too long for verifiers; undefined if none is. */
export function lengthProblem(named: Readonly<Record<string, string>>): string | undefined {
  const long = Object.entries(named).find(([, text]) => text.length > maxLength)
  return long === undefined ? undefined : `${long[0]} must have at most ${maxLength} characters`
}
