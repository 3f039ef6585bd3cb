import { z } from 'zod'
import { listedNames, whileThere } from '../../core/lists.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { fail, refuse } from '../../errors.ts'
import { limitOf, type Reply, type Resource, resource } from '../../http/resource/resource.ts'
import { atMost } from '../../lib/data/async-iterables.ts'
import { stringField } from '../../lib/text/fields.ts'
import { quoted } from '../../lib/text/go-text.ts'
import { answers, noAccessor } from './answers.ts'
import type { ApproleMethod, NewSecretId } from './method.ts'
import { canonicalRolePath, type Role, roleName } from './role.ts'
import { conditionOf, searchFields, searchSecretIds } from './search-secret-ids.ts'
import { checkLength, customSecretIdFields, grantedTtl, secretIdFields, shownSecretId } from './secret-id.ts'
import { type FoundSecretId, goneText } from './secret-id-store.ts'

export type SecretIdParts = { readonly method: ApproleMethod; readonly mostListBytes: number }

type At = { readonly mount: Mount; readonly params: { readonly role_name: string } }

const bySecretId = z.object({
  secret_id: stringField.meta({ description: 'The secret id', writeOnly: true }),
})
const byAccessor = z.object({ secret_id_accessor: stringField.describe('The accessor of the secret id') })

/** What the paths of secret ids have in common. */
function secretIdCalls(method: ApproleMethod) {
  const roleAt = ({ mount, params }: At) => method.rolesOf(mount).find(roleName(params))
  const roleOr = (kind: 'missing' | 'invalid') => async (at: At) => {
    const role = await roleAt(at)
    if (role === undefined) throw refuse(kind, goneText(roleName(at.params)))
    return role
  }
  const neededRole = roleOr('missing')
  /** Of a call that is refused for its role as for a wrong field. */
  const givenRole = roleOr('invalid')
  const lookup = ({ mount }: At, role: Role, secret: string) => {
    checkLength(secret)
    return method.secretIdsOf(mount).find(role, secret)
  }
  const destroyBySecret = {
    required: ['secret_id'],
    input: bySecretId,
    handle: async ({ input: { secret_id }, ...at }: At & { input: z.output<typeof bySecretId> }) => {
      if (secret_id === '') throw refuse('invalid', 'missing secret_id')
      const found = await lookup(at, await givenRole(at), secret_id)
      if (found !== undefined) await method.secretIdsOf(at.mount).destroy(found)
    },
  } as const
  const destroyByAccessor = {
    required: ['secret_id_accessor'],
    input: byAccessor,
    handle: async ({ input, ...at }: At & { input: z.output<typeof byAccessor> }) => {
      const { secret_id_accessor: accessor } = input
      if (accessor === '') throw refuse('invalid', 'missing secret_id_accessor')
      const role = await givenRole(at)
      const found = await method.secretIdsOf(at.mount).findByAccessor(role, accessor)
      if (found === undefined) throw refuse('invalid', noAccessorText(accessor))
      if (found === 'of another role') throw refuse('denied', 'invalid secret id accessor')
      await method.secretIdsOf(at.mount).destroy(found)
    },
  } as const
  return { roleAt, neededRole, givenRole, lookup, destroyBySecret, destroyByAccessor }
}

/** `role/<name>/secret-id` and what is beside and below it. docs/contract/approle.md#secret-ids */
export function secretIdResources({ method, mostListBytes }: SecretIdParts): Resource[] {
  const { neededRole, givenRole, lookup, destroyBySecret } = secretIdCalls(method)
  return [
    resource('/role/:role_name/secret-id', {
      help: 'Generate a secret id of a role, or list the accessors of its secret ids.',
      canonical: canonicalRolePath,
      collection: true,
      write: {
        summary: 'Generate a secret id',
        ...answers.madeSecretId,
        input: secretIdFields,
        handle: async ({ input, ...at }) =>
          made(await method.addSecretId(at.mount, await neededRole(at), input)),
      },
      list: {
        summary: 'List the accessors of the secret ids of a role',
        ...answers.accessors,
        handle: async ({ sent, whenGone, ...at }) => {
          const role = await givenRole(at)
          const after = typeof sent['after'] === 'string' ? sent['after'] : ''
          const accessors = whileThere(method.secretIdsOf(at.mount).accessors(role, after), { whenGone })
          const limited = atMost(limitOf(sent['limit']), accessors)
          return { ...(await listedNames(limited, mostListBytes)), paged: true }
        },
      },
    }),
    resource('/role/:role_name/custom-secret-id', {
      help: 'Store a chosen secret id of a role.',
      canonical: canonicalRolePath,
      write: {
        summary: 'Store a chosen secret id',
        ...answers.madeSecretId,
        required: ['secret_id'],
        input: customSecretIdFields,
        handle: async ({ input: { secret_id, ...input }, ...at }) => {
          if (secret_id === '') throw refuse('invalid', 'missing secret_id')
          const role = await neededRole(at)
          return made(await method.addSecretId(at.mount, role, { ...input, chosen: secret_id }))
        },
      },
    }),
    resource('/role/:role_name/secret-id/lookup', {
      help: 'Look up a secret id of a role.',
      passesReadOnly: true,
      canonical: canonicalRolePath,
      collection: true,
      write: {
        summary: 'Look up a secret id',
        ...answers.secretId,
        required: ['secret_id'],
        input: bySecretId,
        handle: async ({ input: { secret_id }, ...at }) => {
          if (secret_id === '') throw refuse('invalid', 'missing secret_id')
          return shown(await lookup(at, await givenRole(at), secret_id))
        },
      },
    }),
    resource('/role/:role_name/secret-id/search', {
      help: 'Find secret ids of a role by what was stored with them.',
      passesReadOnly: true,
      canonical: canonicalRolePath,
      collection: true,
      write: {
        summary: 'Search the secret ids of a role',
        ...answers.search,
        input: searchFields,
        handle: async ({ input, ...at }) => {
          conditionOf(input)
          const role = await neededRole(at)
          const secretIds = method.secretIdsOf(at.mount)
          return {
            data: { ...(await searchSecretIds(input, role, { secretIds, mostBytes: mostListBytes })) },
          }
        },
      },
    }),
    resource('/role/:role_name/secret-id/destroy', {
      help: 'Destroy a secret id of a role.',
      passesReadOnly: true,
      canonical: canonicalRolePath,
      collection: true,
      write: { summary: 'Destroy a secret id', ...destroyBySecret },
      delete: { summary: 'Destroy a secret id named in the query', ...destroyBySecret },
    }),
    ...accessorResources(method),
  ]
}

function accessorResources(method: ApproleMethod): Resource[] {
  const { roleAt, destroyByAccessor } = secretIdCalls(method)
  return [
    resource('/role/:role_name/secret-id-accessor/lookup', {
      help: 'Look up a secret id of a role by its accessor.',
      passesReadOnly: true,
      canonical: canonicalRolePath,
      collection: true,
      write: {
        summary: 'Look up a secret id by its accessor',
        ...answers.secretId,
        missing: noAccessor,
        required: ['secret_id_accessor'],
        input: byAccessor,
        handle: async ({ input: { secret_id_accessor: accessor }, ...at }) => {
          if (accessor === '') throw refuse('invalid', 'missing secret_id_accessor')
          const role = await roleAt(at)
          // Terraform takes only this status with this text for a secret id that is gone
          if (role === undefined) throw fail('internal', goneText(roleName(at.params)), { isPromised: true })
          const found = await method.secretIdsOf(at.mount).findByAccessor(role, accessor)
          if (found === undefined) return { status: 404, data: { error: noAccessorText(accessor) } }
          return shown(found === 'of another role' ? undefined : found)
        },
      },
    }),
    resource('/role/:role_name/secret-id-accessor/destroy', {
      help: 'Destroy a secret id of a role by its accessor.',
      passesReadOnly: true,
      canonical: canonicalRolePath,
      collection: true,
      write: { summary: 'Destroy a secret id by its accessor', ...destroyByAccessor },
      delete: { summary: 'Destroy a secret id by its accessor, named in the query', ...destroyByAccessor },
    }),
  ]
}

const noAccessorText = (accessor: string): string =>
  `failed to find accessor entry for secret_id_accessor: ${quoted(accessor)}`

const made = ({ secret, secretId }: NewSecretId): Reply => ({
  data: {
    secret_id: secret,
    secret_id_accessor: secretId.accessor,
    secret_id_num_uses: secretId.num_uses,
    secret_id_ttl: grantedTtl(secretId),
  },
  secretAccessor: secretId.accessor,
})

const shown = (found: FoundSecretId | undefined): Reply | undefined =>
  found && { data: shownSecretId(found.secretId) }
