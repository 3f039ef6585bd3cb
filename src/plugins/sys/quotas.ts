import { z } from 'zod'
import type { MountStore } from '../../core/mounts/mount-store.ts'
import type { MountTypeRegistry } from '../../core/mounts/mount-type-registry.ts'
import type { Mount } from '../../core/mounts/mount.ts'
import { withSlash } from '../../core/mounts/mount-path.ts'
import { rootNamespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import { groupings, type Quota, type QuotaConfig } from '../../core/quotas/quota.ts'
import type { QuotaStore } from '../../core/quotas/quota-store.ts'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, durationField, numberField, stringField, stringListField } from '../../lib/fields.ts'
import { excerpt, quoted } from '../../lib/go/text.ts'

export type QuotaRouteParts = {
  readonly quotas: Pick<QuotaStore, 'config' | 'configure' | 'names' | 'get' | 'put' | 'delete'>
  readonly namespaces: Pick<NamespaceStore, 'resolve' | 'byId' | 'isLive'>
  readonly mounts: Pick<MountStore, 'table'>
  readonly mountTypes: Pick<MountTypeRegistry, 'hasLoginRoles'>
  fullPathOf(mount: Mount): string
}

const most = { name: 256, path: 2048, exemptPaths: 1000 }

const config = z.object({
  rate_limit_exempt_paths: z.array(z.string()),
  absolute_rate_limit_exempt_paths: z.array(z.string()),
  enable_rate_limit_audit_logging: z.boolean(),
  enable_rate_limit_response_headers: z.boolean(),
})
const configInput = z.object({
  rate_limit_exempt_paths: stringListField
    .default([])
    .describe('Prefixes of paths that no rule limits; the default ones only if they are listed'),
  absolute_rate_limit_exempt_paths: stringListField
    .default([])
    .describe('The same, with the path of the namespace in front'),
  enable_rate_limit_audit_logging: boolField
    .default(false)
    .describe('Record refused requests in the audit log'),
  enable_rate_limit_response_headers: boolField
    .default(false)
    .describe('Send X-Ratelimit-Limit, -Remaining, -Reset and Retry-After'),
})
const rule = z.object({
  type: z.string(),
  name: z.string(),
  path: z.string(),
  role: z.string(),
  rate: z.number(),
  interval: z.int(),
  block_interval: z.int(),
  inheritable: z.boolean(),
  group_by: z.enum(groupings),
  secondary_rate: z.number(),
})
const ruleInput = z.object({
  path: stringField
    .default('')
    .describe('A namespace, a mount, a path below it or a glob that ends in *; empty: every request'),
  role: stringField.default('').describe('Limit only logins with this role; `path` must be an auth mount'),
  rate: numberField.default(0).describe('Requests per interval and client address; rounded up'),
  interval: durationField.default(1).describe('Length of the interval'),
  block_interval: durationField
    .default(0)
    .describe('How long a client that exceeds the rate is refused; 0: until its interval ends'),
  group_by: stringField
    .default('ip')
    .describe('What is counted together: `ip` the requests of one client address, `none` all requests'),
  secondary_rate: numberField.default(0).describe('Only 0: there are no groups by entity'),
  inheritable: boolField.optional().describe('Limit also the namespaces below the namespace in `path`'),
})

/** `sys/quotas`: rate limits. docs/contract/quotas.md */
export function quotaResources(parts: QuotaRouteParts): Resource[] {
  const { quotas } = parts
  return [
    resource('/quotas/config', {
      help: 'The settings of all rate limits.',
      read: {
        summary: 'Read the settings of rate limits',
        output: config,
        example: {
          rate_limit_exempt_paths: ['sys/health', 'sys/unseal'],
          absolute_rate_limit_exempt_paths: ['team/sys/auth'],
          enable_rate_limit_audit_logging: false,
          enable_rate_limit_response_headers: false,
        },
        handle: () => ({ data: shownConfig(quotas.config) }),
      },
      write: {
        summary: 'Replace the settings of rate limits',
        input: configInput,
        handle: async ({ input }) => {
          await quotas.configure({
            exemptPaths: exemptPathsOf('rate_limit_exempt_paths', input),
            absoluteExemptPaths: exemptPathsOf('absolute_rate_limit_exempt_paths', input),
            auditsRefusals: input.enable_rate_limit_audit_logging,
            showsHeaders: input.enable_rate_limit_response_headers,
          })
          return undefined
        },
      },
    }),
    resource('/quotas/rate-limit', {
      help: 'The rate limits.',
      collection: true,
      list: {
        summary: 'List the names of the rate limits',
        output: z.object({ keys: z.array(z.string()) }),
        example: { keys: ['logins'] },
        handle: () => ({ data: { keys: quotas.names } }),
      },
    }),
    resource('/quotas/rate-limit/:name', {
      help: 'A limit on the number of requests that each client address may send.',
      read: {
        summary: 'Read a rate limit',
        output: rule,
        example: {
          ...{ type: 'rate-limit', name: 'logins', path: 'auth/jwt/login', role: '', rate: 10, interval: 1 },
          ...{ block_interval: 60, inheritable: false, group_by: 'ip', secondary_rate: 0 },
        },
        handle: ({ params }) => {
          const quota = quotas.get(params.name)
          const path = quota && pathOf(quota, parts)
          return quota && path !== undefined ? { data: shown(quota, path) } : undefined
        },
      },
      write: {
        summary: 'Create or replace a rate limit; its counters start again',
        required: ['rate'],
        input: ruleInput.meta({ examples: [{ path: 'auth/jwt', rate: 100 }] }),
        handle: async ({ params: { name }, input }) => {
          if (name.length > most.name) throw refuse('invalid', `name is longer than ${most.name} characters`)
          await quotas.put(() => quotaOf(name, input, parts))
          return undefined
        },
      },
      delete: {
        summary: 'Delete a rate limit',
        handle: async ({ params }) => {
          await quotas.delete(params.name)
          return undefined
        },
      },
    }),
  ]
}

const shownConfig = ({ exemptPaths, absoluteExemptPaths, auditsRefusals, showsHeaders }: QuotaConfig) => ({
  rate_limit_exempt_paths: [...exemptPaths],
  absolute_rate_limit_exempt_paths: [...absoluteExemptPaths],
  enable_rate_limit_audit_logging: auditsRefusals,
  enable_rate_limit_response_headers: showsHeaders,
})

type ExemptPaths = 'rate_limit_exempt_paths' | 'absolute_rate_limit_exempt_paths'

function exemptPathsOf(field: ExemptPaths, input: z.output<typeof configInput>): string[] {
  const paths = input[field].map(withoutLeadingSlash).filter((path) => path !== '')
  if (paths.length > most.exemptPaths) throw refuse('invalid', `${field}: more than ${most.exemptPaths}`)
  if (paths.some((path) => path.length > most.path))
    throw refuse('invalid', `${field}: one is longer than ${most.path} characters`)
  return paths
}

const withoutLeadingSlash = (path: string): string => path.replace(/^\/+/, '')

/** The full path that a rule limits; undefined if its mount or namespace is gone. */
function pathOf(quota: Quota, { mounts, namespaces, fullPathOf }: QuotaRouteParts): string | undefined {
  if (quota.mount === '') return namespaces.byId(quota.namespace)?.path
  const mount = mounts.table.byUuid(quota.mount)
  return mount && fullPathOf(mount) + quota.suffix
}

const shown = ({ name, role, rate, interval, blockInterval, inheritable, groupBy }: Quota, path: string) => ({
  ...{ type: 'rate-limit', name, path, role, rate, interval, inheritable },
  ...{ group_by: groupBy, secondary_rate: 0 },
  block_interval: blockInterval,
})

/** Throws `invalid` for a rule that cannot be. */
function quotaOf(name: string, input: z.output<typeof ruleInput>, parts: QuotaRouteParts): Quota {
  const { rate, role, secondary_rate } = input
  if (rate <= 0 || rate > Number.MAX_SAFE_INTEGER) throw refuse('invalid', "'rate' is invalid")
  const groupBy = groupings.find((one) => one === (input.group_by || 'ip'))
  if (groupBy === undefined)
    throw refuse(
      'invalid',
      `'group_by' is invalid: ${groupings.join(' or ')}, not ${excerpt(input.group_by)}`,
    )
  if (secondary_rate !== 0)
    throw refuse('invalid', "'secondary_rate' is invalid: there are no groups by entity")
  const place = placeOf(input.path, parts)
  if (role !== '') checkRole(place, parts)
  return {
    ...{ name, role, rate, groupBy, interval: input.interval || 1, blockInterval: input.block_interval },
    namespace: place.mount === undefined ? place.namespace : '',
    mount: place.mount?.uuid ?? '',
    suffix: place.suffix,
    inheritable: inheritableOf(input.inheritable, place),
  }
}

type Place = { readonly namespace: string; readonly mount: Mount | undefined; readonly suffix: string }

function placeOf(sent: string, { namespaces, mounts }: QuotaRouteParts): Place {
  if (sent.length > most.path) throw refuse('invalid', `path is longer than ${most.path} characters`)
  const full = withoutLeadingSlash(sent.trim())
  if (full === '') return { namespace: rootNamespace.id, mount: undefined, suffix: '' }
  const slashed = withSlash(full)
  const { namespace, taken } = namespaces.resolve(undefined, slashed) ?? {
    namespace: rootNamespace,
    taken: 0,
  }
  const path = slashed.slice(taken)
  if (path === '' && namespaces.isLive(namespace.id))
    return { namespace: namespace.id, mount: undefined, suffix: '' }
  const found = mounts.table.resolve(namespace.id, path)
  if (found === undefined || found.mount.tainted || !namespaces.isLive(namespace.id))
    throw refuse('invalid', `invalid mount path ${quoted(path)}`)
  return { namespace: namespace.id, mount: found.mount, suffix: found.below.replace(/\/$/, '') }
}

function checkRole({ mount, suffix }: Place, { mountTypes }: QuotaRouteParts): void {
  if (suffix !== '')
    throw refuse(
      'invalid',
      'Quotas cannot contain both a path suffix and a role. If a role is provided, path must be a valid mount with a concept of roles',
    )
  const path = quoted(mount?.path ?? '')
  if (mount?.table !== 'auth')
    throw refuse(
      'invalid',
      `Mount path ${path} is not a valid auth method and therefore unsuitable for use with role-based quotas`,
    )
  if (!mountTypes.hasLoginRoles(mount.plugin))
    throw refuse('invalid', `Mount path ${path} does not support use with role-based quotas`)
}

/** A rule on the root namespace without a mount limits every request. */
function inheritableOf(sent: boolean | undefined, { namespace, mount }: Place): boolean {
  const isGlobal = mount === undefined && namespace === rootNamespace.id
  if (sent === true && mount !== undefined)
    throw refuse('invalid', 'only namespace quotas can be configured as inheritable')
  if (sent === false && isGlobal) throw refuse('invalid', 'all global quotas must be inheritable')
  return sent ?? isGlobal
}
