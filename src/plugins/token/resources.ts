import { z } from 'zod'
import type { Caller } from '../../core/access.ts'
import type { IdentityStore } from '../../core/identity/identity-store.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { type CreateParts, createToken, unknownTokenRole } from '../../core/tokens/create-token.ts'
import { type RenewParts, renewToken } from '../../core/tokens/renew-token.ts'
import type { Token } from '../../core/tokens/token.ts'
import type { TokenRevoker } from '../../core/tokens/token-revoker.ts'
import type { TokenRoleStore } from '../../core/tokens/token-role-store.ts'
import type { TokenTidy } from '../../core/tokens/token-tidy.ts'
import { fail, refuse } from '../../errors.ts'
import type { LongLists } from '../../core/long-lists.ts'
import {
  type Exchange,
  namespaceOf,
  type Reply,
  type Resource,
  resource,
  type Call,
  followsCaller,
  followsField,
  followsFieldOrCaller,
} from '../../http/resource.ts'
import {
  boolField,
  durationField,
  intField,
  kvField,
  stringField,
  stringListField,
} from '../../lib/fields.ts'
import type { JsonValue } from '../../lib/json.ts'
import { accessorResources } from './accessors.ts'
import { answers } from './answers.ts'
import { LookupTexts } from './lookup-text.ts'
import { tokenRoleResources } from './roles.ts'

export type TokenPluginParts = CreateParts &
  RenewParts & {
    readonly identity: IdentityStore
    readonly revoker: TokenRevoker
    readonly roles: TokenRoleStore
    readonly tidy: TokenTidy
    readonly longLists: LongLists
  }

const durationText = (what: string) =>
  stringField.default('').describe(`${what}: seconds, or text like 1h30m`)

const createInput = z.object({
  id: stringField.default('').describe('Id of the token; random by default. Needs sudo'),
  policies: stringListField.default([]).describe('Policies of the token; by default those of the caller'),
  meta: kvField.default(null).describe('Notes about the token: text by name'),
  no_parent: boolField
    .default(false)
    .describe('Create an orphan: it is not revoked with the calling token. Needs sudo'),
  no_default_policy: boolField.default(false).describe('Omit the policy `default`'),
  renewable: boolField.default(true).describe('Whether the token can be renewed'),
  ttl: durationText('Lifetime of the token'),
  lease: durationText('Old name of ttl'),
  type: stringField.default('').describe('`service` or `batch`'),
  explicit_max_ttl: durationText('Longest lifetime of the token, renewals included'),
  period: durationText('The token can be renewed without limit, for this long each time (needs sudo)'),
  display_name: stringField.default('').describe('Name of the token in logs'),
  num_uses: intField.default(0).describe('Number of uses of the token; 0 means no limit'),
  entity_alias: stringField
    .default('')
    .describe('Alias of the entity the token is for; only with a token role that allows it'),
})
const tokenField = stringField.default('').describe('The token')
const accessorInput = z.object({ accessor: stringField.default('').describe('Accessor of the token') })
const lookupInput = z.object({ token: tokenField })
const increment = durationField.default(0).describe('Requested TTL, counted from now')

type Sent = Readonly<Record<string, JsonValue>>

/** `auth/token/*`. docs/contract/tokens-and-policies.md#tokens */
export function tokenResources(parts: TokenPluginParts): Resource[] {
  const { tokens, identity, revoker, roles, clock } = parts
  const texts = new LookupTexts()

  const described = async (found: Token, id: string, call: Call): Promise<Reply> => {
    const known = found.entity_id === '' ? undefined : await identity.identityOf(found.entity_id)
    return {
      dataText: texts.of({ token: found, known, namespacePath: namespaceOf(call).path }, id, clock.now()),
    }
  }
  /** The token, if it belongs to the namespace of the mount. */
  const tokenOf = async (id: string, { namespace }: Mount): Promise<Token | undefined> => {
    const found = await tokens.lookup(id)
    return found?.namespace === namespace ? found : undefined
  }

  const lookup = async ({
    mount,
    call,
    caller,
    input,
  }: Exchange<{ token: string }, unknown>): Promise<Reply> => {
    const self = signedIn(caller)
    if (input.token === '' || input.token === self.tokenId) return described(self.token, self.tokenId, call)
    const found = await tokenOf(input.token, mount)
    if (found === undefined) throw refuse('denied', 'bad token')
    return described(found, input.token, call)
  }
  const lookupSelf = ({ call, caller }: Exchange<unknown, unknown>): Promise<Reply> => {
    const self = signedIn(caller)
    return described(self.token, self.tokenId, call)
  }
  const renew = async (found: Token | undefined, id: string, wanted: number): Promise<Reply> => {
    if (found === undefined) throw refuse('invalid', 'token not found')
    return renewToken(parts, { token: found, id, increment: wanted })
  }
  return [
    ...(['create', 'create-orphan'] as const).map((form) =>
      resource(`/${form}`, {
        help:
          form === 'create'
            ? 'Make a token that is revoked with the calling token.'
            : 'Make a token that outlives the calling token.',
        write: {
          summary: form === 'create' ? 'Create a token' : 'Create an orphan token',
          ...answers.auth,
          input: createInput,
          handle: ({ mount, call, caller, input }) => {
            const { token: own, acl } = signedIn(caller)
            const { sudo } = acl.decide({ operation: 'update', path: call.path })
            return createToken(parts, { mount, caller: own, sudo, form, input })
          },
        },
      }),
    ),
    resource('/create/:role_name', {
      help: 'Create a token with a token role.',
      write: {
        summary: 'Create a token with a role',
        ...answers.auth,
        input: createInput,
        handle: async ({ mount, call, caller, params, input }) => {
          const role = await roles.find(mount.namespace, params.role_name)
          if (role === undefined) throw unknownTokenRole(params.role_name)
          const { token: own, acl } = signedIn(caller)
          const { sudo } = acl.decide({ operation: 'update', path: call.path })
          return createToken(parts, { mount, caller: own, sudo, form: 'create', role, input })
        },
      },
    }),
    resource('/lookup', {
      help: 'Look up a token.',
      precheck: checkTokenText,
      follows: followsFieldOrCaller('token'),
      read: { summary: 'Look up a token', ...answers.lookup, input: lookupInput, handle: lookup },
      write: { summary: 'Look up a token', ...answers.lookup, input: lookupInput, handle: lookup },
    }),
    resource('/lookup-self', {
      help: 'Look up the calling token.',
      follows: followsCaller,
      read: { summary: 'Look up the calling token', ...answers.lookup, handle: lookupSelf },
      write: {
        summary: 'Look up the calling token',
        ...answers.lookup,
        input: lookupInput,
        handle: lookupSelf,
      },
    }),
    resource('/lookup-accessor', {
      help: 'Look up a token by its accessor.',
      write: {
        summary: 'Look up a token by its accessor',
        required: ['accessor'],
        ...answers.lookup,
        input: accessorInput,
        handle: async ({ mount, call, input }) =>
          described(await byAccessor(input.accessor, mount), '', call),
      },
    }),
    resource('/renew', {
      help: 'Renew a token.',
      precheck: checkTokenText,
      follows: followsField('token'),
      write: {
        summary: 'Renew a token',
        required: ['token'],
        ...answers.auth,
        input: lookupInput.extend({ increment }),
        handle: async ({ mount, input }) => {
          if (input.token === '') throw refuse('invalid', 'missing token ID')
          return renew(await tokenOf(input.token, mount), input.token, input.increment)
        },
      },
    }),
    resource('/renew-self', {
      help: 'Renew the calling token.',
      follows: followsCaller,
      write: {
        summary: 'Renew the calling token',
        ...answers.auth,
        input: lookupInput.extend({ increment }),
        handle: ({ caller, input }) => {
          const self = signedIn(caller)
          return renew(self.token, self.tokenId, input.increment)
        },
      },
    }),
    resource('/renew-accessor', {
      help: 'Renew a token by its accessor.',
      write: {
        summary: 'Renew a token by its accessor',
        required: ['accessor'],
        ...answers.auth,
        input: accessorInput.extend({ increment }),
        handle: async ({ mount, input }) =>
          renew(await byAccessor(input.accessor, mount), '', input.increment),
      },
    }),
    resource('/revoke', {
      help: 'Revoke a token and all its children.',
      precheck: checkTokenText,
      follows: followsField('token'),
      write: {
        summary: 'Revoke a token',
        required: ['token'],
        input: lookupInput,
        handle: async ({ mount, input }) => {
          if (input.token === '') throw refuse('invalid', 'missing token ID')
          const found = await tokenOf(input.token, mount)
          if (found !== undefined) await revoker.revoke(revocable(found).accessor)
          return undefined
        },
      },
    }),
    resource('/revoke-self', {
      help: 'Revoke the calling token.',
      follows: followsCaller,
      write: {
        summary: 'Revoke the calling token',
        input: lookupInput,
        handle: async ({ caller }) => {
          await revoker.revoke(revocable(signedIn(caller).token).accessor)
          return undefined
        },
      },
    }),
    resource('/revoke-accessor', {
      help: 'Revoke a token by its accessor.',
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
          return undefined
        },
      },
    }),
    resource('/revoke-orphan', {
      help: 'Revoke a token; its children become orphans.',
      precheck: checkTokenText,
      follows: followsField('token'),
      write: {
        summary: 'Revoke a token, not its children',
        required: ['token'],
        input: lookupInput,
        handle: async ({ mount, caller, call, input }) => {
          if (input.token === '') throw refuse('invalid', 'missing token ID')
          const { sudo } = signedIn(caller).acl.decide({ operation: 'update', path: call.path })
          if (!sudo) throw refuse('invalid', 'root or sudo privileges required to revoke and orphan')
          const found = await tokenOf(input.token, mount)
          if (found === undefined) throw refuse('invalid', 'token to revoke not found')
          await revoker.revokeOrphan(revocable(found).accessor)
          return undefined
        },
      },
    }),
    ...tokenRoleResources(parts),
    ...accessorResources(parts),
  ]

  async function byAccessor(accessor: string, { namespace }: Mount): Promise<Token> {
    if (accessor === '') throw fail('invalid', 'missing accessor')
    const found = await tokens.lookupByAccessor(accessor)
    if (found?.namespace !== namespace) throw fail('invalid', 'invalid accessor')
    return found
  }
}

/** docs/contract/tokens-and-policies.md#batch-tokens */
function revocable(found: Token): Token {
  if (found.type === 'batch') throw refuse('invalid', 'batch tokens cannot be revoked')
  return found
}

/** docs/contract/http.md#the-order-of-refusals */
function checkTokenText(sent: Sent): void {
  if (sent.token !== undefined && typeof sent.token !== 'string') throw refuse('denied', 'invalid token')
}

/** None of these paths is open, so there is a caller. */
function signedIn(caller: Caller | undefined): Caller {
  if (caller === undefined) throw new Error('a token path was reached without a caller')
  return caller
}
