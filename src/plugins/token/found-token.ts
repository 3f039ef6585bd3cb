import { z } from 'zod'
import type { Caller } from '../../core/callers/access.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import type { TokenStore } from '../../core/tokens/store/token-store.ts'
import { fail, refuse } from '../../errors.ts'
import { durationField, stringField } from '../../lib/text/fields.ts'
import type { JsonValue } from '../../lib/text/json.ts'

export const tokenInput = z.object({
  token: stringField.default('').describe('The token').meta({ writeOnly: true }),
})
export const accessorInput = z.object({ accessor: stringField.default('').describe('Accessor of the token') })
export const increment = durationField.default(0).describe('Requested TTL, counted from now')

type Tokens = Pick<TokenStore, 'lookup' | 'lookupByAccessor'>

/** The token with this id, if it belongs to the namespace of the mount. */
export async function tokenOf(tokens: Tokens, id: string, { namespace }: Mount): Promise<Token | undefined> {
  const found = await tokens.lookup(id)
  return found?.namespace === namespace ? found : undefined
}

/** The token with this accessor. Throws a refusal if the namespace of the mount has none. */
export async function byAccessor(tokens: Tokens, accessor: string, { namespace }: Mount): Promise<Token> {
  if (accessor === '') throw fail('invalid', 'missing accessor')
  const found = await tokens.lookupByAccessor(accessor)
  if (found?.namespace !== namespace) throw fail('invalid', 'invalid accessor')
  return found
}

/** docs/contract/http.md#the-order-of-refusals */
export function checkTokenText(sent: Readonly<Record<string, JsonValue>>): void {
  if (sent.token !== undefined && typeof sent.token !== 'string') throw refuse('denied', 'invalid token')
}

/** None of these paths is open, so there is a caller. */
export function signedIn(caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Error('a token path was reached without a caller')
  return caller
}
