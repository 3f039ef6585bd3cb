import type { Caller } from '../../core/callers/access.ts'
import { type Identity, identityIn } from '../../core/identity/entities/identity-store.ts'
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

type Asked = { readonly id: string; readonly identity: Identity | undefined; readonly isCaller?: boolean }

/** `auth/token/lookup*`. docs/contract/tokens-and-policies.md#tokens */
export function lookupResources({
  tokens,
  identities,
  clock,
}: Pick<Core, 'tokens' | 'identities' | 'clock'>): Resource[] {
  const described = (token: Token, call: Call, { id, identity, isCaller = false }: Asked): Reply => {
    const data = lookupData(token, {
      id,
      now: clock.now(),
      identityPolicies: identity === undefined ? [] : identityIn(identity, token.namespace).policies,
      external: identity?.policiesByNamespace.filter(
        ({ namespace, names }) => namespace !== token.namespace && names.length > 0,
      ),
      namespacePath: namespaceOf(call).path,
      isCaller,
    })
    return { data }
  }
  const ofCaller = (caller: Caller, call: Call): Reply =>
    described(shownToken(caller), call, { id: caller.tokenId, identity: caller.identity, isCaller: true })
  const found = async (token: Token, id: string, call: Call): Promise<Reply> => {
    const identity = token.entity_id === '' ? undefined : await identities.identityOf(token.entity_id)
    return described(token, call, { id, identity })
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
      return ofCaller(self, call)
    const token = await tokenOf(tokens, input.token, mount)
    if (token === undefined) throw refuse('denied', 'bad token')
    return found(token, input.token, call)
  }
  const lookupSelf = ({ call, caller }: Exchange<unknown, unknown>): Reply => ofCaller(signedIn(caller), call)
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
          found(await byAccessor(tokens, input.accessor, mount), '', call),
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
