import { z } from 'zod'
import type { Core } from '../../../core/open/core.ts'
import type { LeaseQuota } from '../../../core/quotas/quota.ts'
import { refuse } from '../../../errors.ts'
import { nameList, type Resource, resource } from '../../../http/resource/resource.ts'
import { boolField, intField, stringField } from '../../../lib/text/fields.ts'
import { checkName, type PlaceParts, pathOf, placeOf } from './places.ts'

type LeaseCountParts = PlaceParts & Pick<Core, 'leaseQuotas' | 'history'>

const rule = z.object({
  type: z.string(),
  name: z.string(),
  path: z.string(),
  role: z.string(),
  max_leases: z.int(),
  counter: z.int().describe('Live leases and tokens under the rule'),
  inheritable: z.boolean(),
})
const ruleInput = z.object({
  path: stringField
    .default('')
    .describe('A namespace, a mount, a path below it or a glob that ends in *; empty: all leases'),
  role: stringField.default('').describe('Count only logins with this role; `path` must be an auth mount'),
  max_leases: intField.default(0).describe('Greatest number of live leases and tokens'),
  inheritable: boolField.optional().describe('Count also the namespaces below the namespace in `path`'),
})

/** `sys/quotas/lease-count`: limits on the number of leases. docs/contract/quotas.md#leases */
export function leaseCountResources(parts: LeaseCountParts): Resource[] {
  const { leaseQuotas, history: store } = parts
  return [
    nameList('/quotas/lease-count', {
      help: 'The limits on the number of leases.',
      summary: 'List the names of the lease count quotas',
      example: ['ci-logins'],
      names: () => leaseQuotas.rules.names,
    }),
    resource('/quotas/lease-count/:name', {
      help: 'A limit on the number of live leases, tokens included.',
      history: {
        store,
        record: ({ params }) => leaseQuotas.rules.recordKey(params.name),
        path: ({ params }) => `quotas/lease-count/${params.name}`,
        form: ({ params }) => {
          const quota = leaseQuotas.rules.get(params.name)
          const path = quota && pathOf(quota, parts)
          return quota && path !== undefined ? shown(quota, path, 0) : undefined
        },
      },
      read: {
        summary: 'Read a lease count quota and how many leases it counts',
        output: rule,
        example: {
          type: 'lease-count',
          name: 'ci-logins',
          path: 'auth/jwt/',
          role: '',
          max_leases: 1000,
          counter: 12,
          inheritable: false,
        },
        handle: async ({ params: { name } }) => {
          const quota = leaseQuotas.rules.get(name)
          const path = quota && pathOf(quota, parts)
          if (quota === undefined || path === undefined) return undefined
          return { data: shown(quota, path, await leaseQuotas.countOf(name)) }
        },
      },
      write: {
        summary: 'Create or replace a lease count quota',
        required: ['max_leases'],
        input: ruleInput.meta({ examples: [{ path: 'auth/jwt', max_leases: 1000 }] }),
        handle: async ({ params: { name }, input }) => {
          checkName(name)
          const { max_leases: maxLeases } = input
          if (maxLeases <= 0) throw refuse('invalid', "'max_leases' is invalid")
          await leaseQuotas.rules.put(() => ({ ...placeOf(name, input, parts), maxLeases }))
        },
      },
      delete: {
        summary: 'Delete a lease count quota',
        handle: ({ params }) => leaseQuotas.rules.delete(params.name),
      },
    }),
  ]
}

const shown = ({ name, role, maxLeases, inheritable }: LeaseQuota, path: string, counter: number) => ({
  type: 'lease-count',
  name,
  path,
  role,
  inheritable,
  counter,
  max_leases: maxLeases,
})
