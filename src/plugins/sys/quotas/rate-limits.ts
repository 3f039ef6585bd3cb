import { z } from 'zod'
import type { Core } from '../../../core/open/core.ts'
import { groupings, type Quota, type QuotaConfig } from '../../../core/quotas/quota.ts'
import { refuse } from '../../../errors.ts'
import { nameList, type Resource, resource } from '../../../http/resource/resource.ts'
import {
  boolField,
  durationField,
  numberField,
  stringField,
  stringListField,
} from '../../../lib/text/fields.ts'
import { excerpt } from '../../../lib/text/go-text.ts'
import { checkName, mostPath, type PlaceParts, pathOf, placeOf, withoutLeadingSlash } from './places.ts'

type RateLimitParts = PlaceParts & Pick<Core, 'quotas' | 'history'>

const mostExemptPaths = 1000

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
export function rateLimitResources(parts: RateLimitParts): Resource[] {
  const { quotas, history: store } = parts
  return [
    resource('/quotas/config', {
      help: 'The settings of all rate limits.',
      history: {
        store,
        record: () => quotas.configRecord,
        path: () => 'quotas/config',
        form: () => shownConfig(quotas.config),
      },
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
        handle: ({ input }) =>
          quotas.configure({
            exemptPaths: exemptPathsOf('rate_limit_exempt_paths', input),
            absoluteExemptPaths: exemptPathsOf('absolute_rate_limit_exempt_paths', input),
            auditsRefusals: input.enable_rate_limit_audit_logging,
            showsHeaders: input.enable_rate_limit_response_headers,
          }),
      },
    }),
    nameList('/quotas/rate-limit', {
      help: 'The rate limits.',
      summary: 'List the names of the rate limits',
      example: ['logins'],
      names: () => quotas.rules.names,
    }),
    resource('/quotas/rate-limit/:name', {
      help: 'A limit on the number of requests that each client address may send.',
      history: {
        store,
        record: ({ params }) => quotas.rules.recordKey(params.name),
        path: ({ params }) => `quotas/rate-limit/${params.name}`,
        form: ({ params }) => {
          const quota = quotas.rules.get(params.name)
          const path = quota && pathOf(quota, parts)
          return quota && path !== undefined ? shown(quota, path) : undefined
        },
      },
      read: {
        summary: 'Read a rate limit',
        output: rule,
        example: {
          type: 'rate-limit',
          name: 'logins',
          path: 'auth/jwt/login',
          role: '',
          rate: 10,
          interval: 1,
          block_interval: 60,
          inheritable: false,
          group_by: 'ip',
          secondary_rate: 0,
        },
        handle: ({ params }) => {
          const quota = quotas.rules.get(params.name)
          const path = quota && pathOf(quota, parts)
          return quota && path !== undefined ? { data: shown(quota, path) } : undefined
        },
      },
      write: {
        summary: 'Create or replace a rate limit; its counters start again',
        required: ['rate'],
        input: ruleInput.meta({ examples: [{ path: 'auth/jwt', rate: 100 }] }),
        handle: async ({ params: { name }, input }) => {
          checkName(name)
          await quotas.rules.put(() => quotaOf(name, input, parts))
        },
      },
      delete: { summary: 'Delete a rate limit', handle: ({ params }) => quotas.rules.delete(params.name) },
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
  if (paths.length > mostExemptPaths) throw refuse('invalid', `${field}: more than ${mostExemptPaths}`)
  if (paths.some((path) => path.length > mostPath))
    throw refuse('invalid', `${field}: one is longer than ${mostPath} characters`)
  return paths
}

const shown = ({ name, role, rate, interval, blockInterval, inheritable, groupBy }: Quota, path: string) => ({
  type: 'rate-limit',
  name,
  path,
  role,
  rate,
  interval,
  inheritable,
  group_by: groupBy,
  secondary_rate: 0,
  block_interval: blockInterval,
})

function quotaOf(name: string, input: z.output<typeof ruleInput>, parts: RateLimitParts): Quota {
  const { rate, secondary_rate } = input
  if (rate <= 0 || rate > Number.MAX_SAFE_INTEGER) throw refuse('invalid', "'rate' is invalid")
  const groupBy = groupings.find((one) => one === (input.group_by || 'ip'))
  if (groupBy === undefined)
    throw refuse(
      'invalid',
      `'group_by' is invalid: ${groupings.join(' or ')}, not ${excerpt(input.group_by)}`,
    )
  if (secondary_rate !== 0)
    throw refuse('invalid', "'secondary_rate' is invalid: there are no groups by entity")
  return {
    ...placeOf(name, input, parts),
    rate,
    groupBy,
    interval: input.interval || 1,
    blockInterval: input.block_interval,
  }
}
