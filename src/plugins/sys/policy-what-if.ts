import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import type { ParsedPolicy } from '../../core/policies/policy.ts'
import type { PolicyTerms } from '../../core/policies/policy-record.ts'
import { policyName } from '../../core/policies/policy-store.ts'
import { policyWhatIf } from '../../core/policies/policy-what-if.ts'
import { refuse } from '../../errors.ts'
import {
  checkMayReach,
  type DocumentedAnswer,
  type Exchange,
  mayReach,
  type Reply,
} from '../../http/resource/resource.ts'
import { Limiter } from '../../lib/concurrency/limiter.ts'

const text = z.string()
const count = z.int()

/** docs/contract/what-if.md#policies */
export const policyWhatIfAnswer = {
  statuses: [200],
  output: z.object({
    since: text,
    days: count,
    uses: count,
    requests: count,
    lose: count,
    gain: count,
    rules: z.array(z.object({ path: text, uses: count, requests: count, last_at: text })),
    changes: z.array(
      z.object({
        entity_id: text,
        path: text,
        operation: text,
        requests: count,
        last_at: text,
        before: z.enum(['allowed', 'denied']),
        after: z.enum(['allowed', 'denied']),
      }),
    ),
  }),
  example: {
    since: '2026-03-01T09:30:00Z',
    days: 30,
    uses: 3,
    requests: 42,
    lose: 1,
    gain: 0,
    rules: [{ path: 'cloud/creds/deploy', uses: 3, requests: 42, last_at: '2026-03-02T09:30:00Z' }],
    changes: [
      {
        entity_id: '7d2e3179-f69b-450c-7179-ac8ee8bd8ca9',
        path: 'cloud/creds/deploy',
        operation: 'read',
        requests: 12,
        last_at: '2026-03-02T09:30:00Z',
        before: 'allowed',
        after: 'denied',
      },
    ],
  },
} as const satisfies DocumentedAnswer

/** One at a time, because each looks at all that is remembered. */
const turns = () =>
  new Limiter(1, {
    most: 8,
    ms: 30_000,
    refusal: () => refuse('throttled', 'too many what-ifs of policies at a time'),
  })

/** Tries a write of a policy on recent requests of its holders. docs/contract/what-if.md#policies */
export function whatIfOfPolicies(
  core: Pick<Core, 'policies' | 'policyUses' | 'access'>,
  canonical: (below: string) => string,
) {
  const { policies, policyUses: uses } = core
  const running = turns()
  return async (
    exchange: Exchange<PolicyTerms & { readonly policy: string }, unknown>,
    written: string,
  ): Promise<Reply> => {
    const { call, caller, mount, input, sent } = exchange
    const name = policyName(written)
    const path = `policies/acl/${name}`
    checkMayReach(exchange, { operation: 'update', path, fields: sent, canonical })
    const parsed = policies.parsedIf(name, input.policy, input)
    const isReader = mayReach(exchange, { operation: 'read', path, canonical })
    const before = isReader ? await policies.parsedOf(mount.namespace, name) : parsed
    const changed = { namespace: mount.namespace, name, parsed }
    const found = await running.run(() => policyWhatIf({ ...core, uses }, changed))
    const data = isReader ? found : { ...found, rules: [] }
    const isTrusted = caller?.acl.decide({ operation: 'update', path: call.path }).sudo === true
    return {
      data: isTrusted ? data : { ...data, changes: [] },
      warnings: [
        ...(uses.isOn ? [] : ['GATEHOUSE_POLICY_USES is 0: no use of a policy is remembered']),
        ...(isSameLimited(before, parsed)
          ? []
          : ['rules for parameters differ: they are judged as for requests without fields']),
        ...(isTrusted ? [] : ['who would gain or lose what is left out without sudo on this path']),
      ],
    }
  }
}

/** Whether both have the same rules for parameters. Fields of requests are not remembered. */
const isSameLimited = (one: ParsedPolicy | undefined, other: ParsedPolicy): boolean =>
  parameterRules(one) === parameterRules(other)

const parameterRules = (policy: ParsedPolicy | undefined): string =>
  JSON.stringify(
    (policy?.stanzas ?? [])
      .map(({ label, grants: { allowedParameters, deniedParameters, requiredParameters } }) => ({
        path: 'pattern' in label ? label.pattern.text : label.template,
        rules: [[...(allowedParameters ?? [])], [...(deniedParameters ?? [])], requiredParameters],
      }))
      .filter(({ rules }) => rules.some(({ length }) => length > 0)),
  )
