import type { Caller } from '../../core/callers/access.ts'
import { createInput } from '../../core/tokens/acts/create-input.ts'
import { type CreateParts, createToken, unknownTokenRole } from '../../core/tokens/acts/create-token.ts'
import type { TokenRoleStore } from '../../core/tokens/store/token-role-store.ts'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { answers } from './answers.ts'
import { signedIn } from './found-token.ts'

const example = { policies: ['deploy'], ttl: '1h' }

type Parts = CreateParts & { readonly roles: TokenRoleStore }

/** `auth/token/create*`. docs/contract/tokens-and-policies.md#tokens */
export const createResources = (parts: Parts): Resource[] => [
  ...(['create', 'create-orphan'] as const).map((form) =>
    resource(`/${form}`, {
      passesReadOnly: true,
      help:
        form === 'create'
          ? 'Make a token that is revoked with the calling token.'
          : 'Make a token that outlives the calling token.',
      write: {
        summary: form === 'create' ? 'Create a token' : 'Create an orphan token',
        ...answers.auth,
        input: createInput.meta({ examples: [example] }),
        handle: ({ mount, call, caller, input }) => {
          const { token: own, acl } = parentOf(caller)
          const { sudo } = acl.decide({ operation: 'update', path: call.path })
          return createToken(parts, { mount, caller: own, sudo, form, input })
        },
      },
    }),
  ),
  resource('/create/:role_name', {
    help: 'Create a token with a token role.',
    passesReadOnly: true,
    write: {
      summary: 'Create a token with a role',
      ...answers.auth,
      input: createInput.meta({ examples: [example] }),
      handle: async ({ mount, call, caller, params, input }) => {
        const role = await parts.roles.find(mount.namespace, params.role_name)
        if (role === undefined) throw unknownTokenRole(params.role_name)
        const { token: own, acl } = parentOf(caller)
        const { sudo } = acl.decide({ operation: 'update', path: call.path })
        return createToken(parts, { mount, caller: own, sudo, form: 'create', role, input })
      },
    },
  }),
]

/** The caller, whose token will be the parent. Terraform's provider begins with a child of its token, unless it is told not to. */
function parentOf(caller: Caller | undefined): Caller {
  const self = signedIn(caller)
  if (self.carried?.jwt === undefined) return self
  throw refuse(
    'invalid',
    'batch tokens cannot create more tokens; a JWT used as a token cannot have child tokens: set skip_child_token = true in the Terraform provider',
  )
}
