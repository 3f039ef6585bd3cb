import { refuse } from '../../errors.ts'
import { areWithin, isBlock } from '../../lib/net/cidr.ts'
import { excerpt, quoted } from '../../lib/text/go-text.ts'

/** Each login is compared with all of them. */
const maxBlocks = 1000

/** Throws `invalid` for a text that is no network with a prefix length; `what` begins the text. */
export function checkBlocks(blocks: readonly string[], what: string): void {
  if (blocks.length > maxBlocks) throw refuse('invalid', `${what}: more than ${maxBlocks} networks`)
  const bad = blocks.find((block) => !isBlock(block))
  if (bad !== undefined) throw refuse('invalid', `${what}: invalid CIDR address: ${excerpt(bad)}`)
}

/**
 * Throws `invalid` if a secret id may be used, or its tokens, where its role forbids it. Without blocks on
 * either side there is nothing to compare. docs/contract/approle.md#secret-ids
 */
export function checkSubset(ofSecretId: readonly string[], ofRole: readonly string[]): void {
  if (ofSecretId.length === 0 || ofRole.length === 0) return
  const outer = ofRole.map(asBlock)
  if (areWithin(ofSecretId, outer)) return
  throw refuse(
    'invalid',
    `failed to verify subset relationship between CIDR blocks on the role ${list(outer)} and CIDR blocks on the secret ID ${list(ofSecretId)}`,
    { reason: 'address_not_bound' },
  )
}

/** An address of a token's bounds, which has lost its prefix length. */
const asBlock = (text: string): string =>
  text.includes('/') ? text : `${text}/${text.includes(':') ? 128 : 32}`

const list = (blocks: readonly string[]): string => `[${blocks.map((block) => quoted(block)).join(' ')}]`
