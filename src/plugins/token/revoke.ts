import type { Core } from '../../core/open/core.ts'
import type { Token } from '../../core/tokens/store/token.ts'
import { fail, refuse } from '../../errors.ts'
import { followsCaller, followsField, type Resource, resource } from '../../http/resource/resource.ts'
import { answers } from './answers.ts'
import { accessorInput, checkTokenText, signedIn, tokenInput, tokenOf } from './found-token.ts'

/** `auth/token/revoke*`. docs/contract/tokens-and-policies.md#tokens */
export const revokeResources = ({ tokens, revoker }: Pick<Core, 'tokens' | 'revoker'>): Resource[] => [
  resource('/revoke', {
    help: 'Revoke a token and all its children.',
    passesReadOnly: true,
    precheck: checkTokenText,
    follows: followsField('token'),
    write: {
      summary: 'Revoke a token',
      required: ['token'],
      input: tokenInput,
      handle: async ({ mount, input }) => {
        if (input.token === '') throw refuse('invalid', 'missing token ID')
        const found = await tokenOf(tokens, input.token, mount)
        if (found !== undefined) await revoker.revoke(revocable(found).accessor)
      },
    },
  }),
  resource('/revoke-self', {
    help: 'Revoke the calling token.',
    passesReadOnly: true,
    follows: followsCaller,
    write: {
      summary: 'Revoke the calling token',
      input: tokenInput,
      handle: async ({ caller }) => {
        const { token, carried } = signedIn(caller)
        // nothing is left to revoke of a login in the headers, and a JWT cannot be revoked
        if (carried?.tokenType === 'service' && carried.jwt === undefined) return
        await revoker.revoke(revocable(token).accessor)
      },
    },
  }),
  resource('/revoke-accessor', {
    help: 'Revoke a token by its accessor.',
    passesReadOnly: true,
    write: {
      summary: 'Revoke a token by its accessor',
      required: ['accessor'],
      ...answers.maybeWarned,
      input: accessorInput,
      handle: async ({ mount, input }) => {
        if (input.accessor === '') throw fail('invalid', 'missing accessor')
        const found = await tokens.lookupByAccessor(input.accessor)
        if (found?.namespace !== mount.namespace) return { warnings: ['No token found with this accessor'] }
        await revoker.revoke(found.accessor)
      },
    },
  }),
  resource('/revoke-orphan', {
    help: 'Revoke a token; its children become orphans.',
    passesReadOnly: true,
    precheck: checkTokenText,
    follows: followsField('token'),
    write: {
      summary: 'Revoke a token, not its children',
      required: ['token'],
      input: tokenInput,
      handle: async ({ mount, caller, call, input }) => {
        if (input.token === '') throw refuse('invalid', 'missing token ID')
        const { sudo } = signedIn(caller).acl.decide({ operation: 'update', path: call.path })
        if (!sudo) throw refuse('invalid', 'root or sudo privileges required to revoke and orphan')
        const found = await tokenOf(tokens, input.token, mount)
        if (found === undefined) throw refuse('invalid', 'token to revoke not found')
        await revoker.revokeOrphan(revocable(found).accessor)
      },
    },
  }),
]

/** docs/contract/tokens-and-policies.md#batch-tokens */
function revocable(found: Token): Token {
  if (found.type === 'batch') throw refuse('invalid', 'batch tokens cannot be revoked')
  return found
}
