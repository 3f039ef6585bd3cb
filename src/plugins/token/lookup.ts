import type { Caller } from '../../core/callers/access.ts'
import { identityIn } from '../../core/identity/entities/identity-store.ts'
import type { Core } from '../../core/open/core.ts'
import { lookupData } from '../../core/tokens/acts/lookup-data.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import { refuse } from '../../errors.ts'
import {
  type Call,
  type Exchange,
  followsCaller,
  followsFieldOrCaller,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { answers } from './answers.ts'
import { accessorInput, byAccessor, checkTokenText, signedIn, tokenInput, tokenOf } from './found-token.ts'

/** `auth/token/lookup*`. docs/contract/tokens-and-policies.md#tokens */
export function lookupResources({
  tokens,
  identities,
  clock,
}: Pick<Core, 'tokens' | 'identities' | 'clock'>): Resource[] {
  const described = async (token: Token, id: string, call: Call, isCaller = false): Promise<Reply> => {
    const known = token.entity_id === '' ? undefined : await identities.identityOf(token.entity_id)
    const data = lookupData(token, {
      id,
      now: clock.now(),
      identityPolicies: known === undefined ? [] : identityIn(known, token.namespace).policies,
      external: known?.policiesByNamespace.filter(
        ({ namespace, names }) => namespace !== token.namespace && names.length > 0,
      ),
      namespacePath: namespaceOf(call).path,
      isCaller,
    })
    return { data }
  }
  const lookup = async ({
    mount,
    call,
    caller,
    input,
  }: Exchange<{ token: string }, unknown>): Promise<Reply> => {
    const self = signedIn(caller)
    // a JWT that is named in a body is no token, so that nobody learns whether it could be one
    if (input.token === '' || (input.token === self.tokenId && self.carried === undefined))
      return described(shownToken(self), self.tokenId, call, true)
    const found = await tokenOf(tokens, input.token, mount)
    if (found === undefined) throw refuse('denied', 'bad token')
    return described(found, input.token, call)
  }
  const lookupSelf = ({ call, caller }: Exchange<unknown, unknown>): Promise<Reply> => {
    const self = signedIn(caller)
    return described(shownToken(self), self.tokenId, call, true)
  }
  return [
    resource('/lookup', {
      help: 'Look up a token.',
      passesReadOnly: true,
      precheck: checkTokenText,
      follows: followsFieldOrCaller('token'),
      read: { summary: 'Look up a token', ...answers.lookup, input: tokenInput, handle: lookup },
      write: { summary: 'Look up a token', ...answers.lookup, input: tokenInput, handle: lookup },
    }),
    resource('/lookup-self', {
      help: 'Look up the calling token.',
      passesReadOnly: true,
      follows: followsCaller,
      read: { summary: 'Look up the calling token', ...answers.lookup, handle: lookupSelf },
      write: {
        summary: 'Look up the calling token',
        ...answers.lookup,
        input: tokenInput,
        handle: lookupSelf,
      },
    }),
    resource('/lookup-accessor', {
      help: 'Look up a token by its accessor.',
      passesReadOnly: true,
      write: {
        summary: 'Look up a token by its accessor',
        required: ['accessor'],
        ...answers.lookup,
        input: accessorInput,
        handle: async ({ mount, call, input }) =>
          described(await byAccessor(tokens, input.accessor, mount), '', call),
      },
    }),
  ]
}

/** A JWT that is the caller's token shows its own times. docs/contract/inline-login.md#a-jwt-as-the-token */
function shownToken({ token, carried }: Caller): Token {
  if (carried?.jwt === undefined) return token
  const { issuedAt, endsAt } = carried.jwt
  const ttl = Math.max(0, Math.trunc((endsAt - issuedAt) / 1000))
  return { ...token, creation_time: issuedAt, issue_time: issuedAt, expire_time: endsAt, ttl }
}
