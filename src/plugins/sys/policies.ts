import { z } from 'zod'
import type { Core } from '../../core/open/core.ts'
import { policyName, withoutEndSlashes } from '../../core/policies/policy-store.ts'
import {
  type KeptHistory,
  type Place,
  type Reply,
  type Resource,
  resource,
  warned,
} from '../../http/resource/resource.ts'
import { boolField, durationField, intField, stringField, timeField } from '../../lib/text/fields.ts'
import { answers } from './answers/answers.ts'
import { policyWhatIfAnswer, whatIfOfPolicies } from './policy-what-if.ts'

const rules = 'path "cloud/creds/deploy" { capabilities = ["read"] }'
const newInput = z.object({
  policy: stringField
    .default('')
    .describe('The rules, as HCL or JSON, plain or base64')
    .meta({ examples: [rules] }),
  ttl: durationField.optional().describe('Lifetime of the policy, from now; 0 is refused'),
  expiration: timeField.optional().describe('When the policy ends, instead of `ttl`'),
  cas: intField
    .optional()
    .describe('The version that the write replaces: 0 for none, -1 for a policy that does not exist'),
  cas_required: boolField.default(false).describe('Later writes must send `cas`'),
  allow_slashes_in_identity_templates: boolField
    .default(false)
    .describe('Values of templates may contain `/`'),
  allow_wildcards_in_identity_templates: boolField
    .default(false)
    .describe('Values of templates may contain `*` and `+`, which then have their meaning in paths'),
})
const oldInput = newInput
  .extend({ rules: stringField.default('').describe('Old name of policy') })
  .meta({ examples: [{ policy: rules }] })

type Named = Place<{ readonly rest: string }>

const named = (folder: string) => (below: string) =>
  below.startsWith(folder) ? folder + withoutEndSlashes(policyName(below.slice(folder.length))) : below

/** `sys/policies/acl` and its older form `sys/policy`. docs/contract/tokens-and-policies.md#policies */
export function policyResources({
  policies,
  history: store,
  ...core
}: Pick<Core, 'policies' | 'history' | 'policyUses' | 'access'>): Resource[] {
  const whatIf = whatIfOfPolicies({ policies, ...core }, named('policies/acl/'))
  const history = policyHistory(policies, store)
  const names = async (namespace: string, folder = ''): Promise<Reply> => ({
    data: { keys: await policies.list(namespace, folder) },
  })
  const oldNames = async (namespace: string, folder = ''): Promise<Reply> => {
    const keys = await policies.list(namespace, folder)
    return { data: { keys, policies: keys } }
  }
  const allOldNames = {
    summary: 'List policies (old form)',
    ...answers.oldPolicies,
    handle: ({ mount }: Place<unknown>) => oldNames(mount.namespace),
  }
  const read =
    (rulesField: 'policy' | 'rules') =>
    async ({ mount, params }: Named): Promise<Reply | undefined> => {
      const policy = await policies.get(mount.namespace, params.rest)
      if (policy === undefined) return undefined
      const { name, text, ...rest } = policy
      return { data: { name, [rulesField]: text, ...rest } }
    }
  const remove = ({ mount, params }: Named) => policies.delete(mount.namespace, params.rest)
  return [
    resource('/policies/acl', {
      help: 'List the names of the ACL policies.',
      collection: true,
      list: { summary: 'List policies', handle: ({ mount }) => names(mount.namespace) },
    }),
    resource('/policies/acl/:name/what-if', {
      help: 'What a write of an ACL policy would mean for those who use it.',
      passesReadOnly: true,
      canonical: named('policies/acl/'),
      write: {
        summary: 'Try a change of a policy on recent requests',
        required: ['policy'],
        ...policyWhatIfAnswer,
        input: newInput,
        handle: (exchange) => whatIf(exchange, exchange.params.name),
      },
    }),
    resource('/policies/acl/*', {
      help: 'Read, write or delete an ACL policy.',
      history,
      canonical: named('policies/acl/'),
      list: {
        summary: 'List the policies of a folder',
        handle: ({ mount, params }) => names(mount.namespace, params.rest),
      },
      read: { summary: 'Read a policy', ...answers.policy, handle: read('policy') },
      write: {
        summary: 'Create or replace a policy',
        required: ['policy'],
        ...answers.maybeWarned,
        input: newInput,
        handle: async (exchange) => {
          const { mount, params, input } = exchange
          // of a name that is no plain word
          const tried = /^(.+)\/what-if$/.exec(params.rest)?.[1]
          if (tried !== undefined) return whatIf(exchange, tried)
          return warned(await policies.put(mount.namespace, params.rest, input.policy, input))
        },
      },
      delete: { summary: 'Delete a policy', handle: remove },
    }),
    resource('/policy', {
      help: 'List the names of the ACL policies (old form).',
      collection: true,
      read: allOldNames,
      list: allOldNames,
    }),
    resource('/policy/*', {
      help: 'Read, write or delete an ACL policy (old form).',
      history: { ...history, elsewhere: 'other name' },
      canonical: named('policy/'),
      list: {
        summary: 'List the policies of a folder (old form)',
        ...answers.oldPolicies,
        handle: ({ mount, params }) => oldNames(mount.namespace, params.rest),
      },
      read: { summary: 'Read a policy (old form)', ...answers.oldPolicy, handle: read('rules') },
      write: {
        summary: 'Create or replace a policy (old form)',
        ...answers.maybeWarned,
        input: oldInput,
        handle: async ({ mount, params, input }) => {
          const old = input.policy === '' && input.rules !== ''
          const text = old ? input.rules : input.policy
          const warnings = await policies.put(mount.namespace, params.rest, text, input)
          return warned(old ? [...warnings, "'rules' is deprecated, please use 'policy' instead"] : warnings)
        },
      },
      delete: { summary: 'Delete a policy (old form)', handle: remove },
    }),
  ]
}

const policyHistory = (policies: Core['policies'], store: Core['history']): KeptHistory<Named['params']> => ({
  store,
  record: ({ mount, params }) => policies.recordKey(mount.namespace, params.rest),
  path: ({ params }) => `policies/acl/${policyName(params.rest)}`,
  form: async ({ mount, params }) => {
    const policy = await policies.get(mount.namespace, params.rest)
    return policy && { ...policy, policy: policy.text }
  },
  // who must name the version that a write replaces must do so here too
  ofTheWrite: ['cas'],
})
