import { type RenewParts, renewToken } from '../../core/tokens/acts/renew-token.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import { refuse } from '../../errors.ts'
import {
  followsCaller,
  followsField,
  type Reply,
  type Resource,
  resource,
} from '../../http/resource/resource.ts'
import { answers } from './answers.ts'
import {
  accessorInput,
  byAccessor,
  checkTokenText,
  increment,
  signedIn,
  tokenInput,
  tokenOf,
} from './found-token.ts'

/** `auth/token/renew*`. docs/contract/tokens-and-policies.md#tokens */
export function renewResources(parts: RenewParts): Resource[] {
  const { tokens } = parts
  const renew = async (found: Token | undefined, id: string, wanted: number): Promise<Reply | undefined> => {
    if (found === undefined) throw refuse('invalid', 'token not found')
    return renewToken(parts, { token: found, id, increment: wanted })
  }
  return [
    resource('/renew', {
      help: 'Renew a token.',
      passesReadOnly: true,
      precheck: checkTokenText,
      follows: followsField('token'),
      write: {
        summary: 'Renew a token',
        required: ['token'],
        ...answers.auth,
        input: tokenInput.extend({ increment }),
        handle: async ({ mount, caller, input }) => {
          if (input.token === '') throw refuse('invalid', 'missing token ID')
          const self = signedIn(caller)
          if (self.carried !== undefined && input.token === self.tokenId)
            return renew(self.token, self.tokenId, input.increment)
          return renew(await tokenOf(tokens, input.token, mount), input.token, input.increment)
        },
      },
    }),
    resource('/renew-self', {
      help: 'Renew the calling token.',
      passesReadOnly: true,
      follows: followsCaller,
      write: {
        summary: 'Renew the calling token',
        ...answers.auth,
        input: tokenInput.extend({ increment }),
        handle: ({ caller, input }) => {
          const self = signedIn(caller)
          // its last use: a renewal would be lost with the token
          if (self.token.num_uses < 0) throw refuse('invalid', 'token not found')
          return renew(self.token, self.tokenId, input.increment)
        },
      },
    }),
    resource('/renew-accessor', {
      help: 'Renew a token by its accessor.',
      passesReadOnly: true,
      write: {
        summary: 'Renew a token by its accessor',
        required: ['accessor'],
        ...answers.auth,
        input: accessorInput.extend({ increment }),
        handle: async ({ mount, input }) =>
          renew(await byAccessor(tokens, input.accessor, mount), '', input.increment),
      },
    }),
  ]
}
