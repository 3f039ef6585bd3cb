import { z } from 'zod'
import { type SpellingParts, spellingOf } from '../../core/mounts/spellings.ts'
import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { Core } from '../../core/open/core.ts'
import { type Acl, bindAcl, type Rule, rootAcl } from '../../core/policies/acl.ts'
import { type AclOperation, capabilityNames, requiredBit } from '../../core/policies/capabilities.ts'
import { fail, refuse } from '../../errors.ts'
import { type DocumentedAnswer, namespaceOf, type Resource, resource } from '../../http/resource/resource.ts'
import { commaListField, stringField } from '../../lib/text/fields.ts'

const operations = ['create', 'read', 'update', 'patch', 'delete', 'list', 'scan'] as const

const input = z
  .object({
    path: stringField.default('').describe('Path of the request, as in a policy'),
    operation: z.enum(operations).default('read').describe('What the request would do'),
    accessor: stringField.default('').describe('Of the token that would send it'),
    entity_id: stringField
      .default('')
      .describe('Of a holder with the policy `default` and those of its entity'),
    policies: commaListField.default([]).describe('Names of the policies of the holder, at most 100'),
    policy: stringField
      .default('')
      .describe('Text of the only policy of the holder, which need not be stored'),
  })
  .meta({ examples: [{ path: 'auth/jwt/role/ci', operation: 'read', policies: ['deploy'] }] })

type Asked = z.output<typeof input>

const rule = z.object({ path: z.string(), capabilities: z.array(z.string()), policies: z.array(z.string()) })

const reasons = ['root', 'granted', 'no_rule', 'denied', 'not_granted', 'withheld'] as const

/** docs/contract/tokens-and-policies.md#asking-why */
const answer = {
  statuses: [200],
  output: z.object({
    allowed: z.boolean(),
    sudo: z.boolean(),
    reason: z.enum(reasons),
    rule: rule.nullable(),
    others: z.array(rule),
  }),
  example: {
    allowed: false,
    sudo: false,
    reason: 'not_granted',
    rule: { path: 'auth/jwt/role/*', capabilities: ['list'], policies: ['deploy'] },
    others: [],
  },
} as const satisfies DocumentedAnswer

const mostPolicies = 100
const mostOthers = 20

/** `sys/policies/explain`: which rule decides, and why not. docs/contract/tokens-and-policies.md#asking-why */
export function policyExplainResource(
  parts: SpellingParts & Pick<Core, 'access' | 'identities' | 'policies' | 'clock'>,
): Resource {
  const { access, identities, policies, clock } = parts
  const aclOf = async (asked: Asked, namespace: Namespace): Promise<Acl> => {
    const { accessor, entity_id: entity, policies: names, policy } = asked
    const { id } = namespace
    if (accessor !== '') return access.rightsOfAccessor(accessor, namespace)
    if (policy !== '') {
      const name = 'draft'
      const changed = { namespace: id, name, parsed: policies.parsedIf(name, policy, {}) }
      const sets = [{ namespace: id, names: [name], prefix: '' }]
      return bindAcl(await policies.compiledIf(changed, sets), { now: clock.now() })
    }
    const isElsewhere = entity !== '' && (await identities.identityOf(entity))?.entity.namespace_id !== id
    const held = entity === '' ? names : ['default']
    const holder = isElsewhere ? undefined : await access.holderOf({ namespace: id, policies: held, entity })
    if (holder === undefined) throw refuse('invalid', 'entity_id: no such entity, or it is disabled')
    const [own, ...more] = holder.sets
    return policies.aclFor(id, own.names, holder.context, more)
  }
  return resource('/policies/explain', {
    help: 'Which rule of the policies of a holder decides about a request.',
    sudo: true,
    passesReadOnly: true,
    write: {
      summary: 'Explain what policies decide about a request',
      required: ['path'],
      ...answer,
      input,
      handle: async ({ input: asked, call }) => {
        checkAsked(asked)
        const namespace = namespaceOf(call)
        const path = asked.path.replace(/^\//, '')
        const acl = await aclOf(asked, namespace)
        return { data: explained(acl, asked.operation, path, spellingOf(path, namespace, parts)) }
      },
    },
  })
}

function checkAsked({ path, accessor, entity_id, policies, policy }: Asked): void {
  if (path === '') throw fail('invalid', 'missing path')
  if ([accessor, entity_id, policies.join(''), policy].filter((one) => one !== '').length !== 1)
    throw refuse('invalid', 'name exactly one of accessor, entity_id, policies and policy')
  if (policies.length > mostPolicies) throw refuse('invalid', `policies: at most ${mostPolicies}`)
}

function explained(
  acl: Acl,
  operation: Exclude<AclOperation, 'help'>,
  path: string,
  canonicalize: Parameters<Acl['capabilities']>[1],
) {
  const { allowed, sudo } = acl.decide({ operation, path, canonicalize })
  const [first, ...others] = acl.matching({ operation, path })
  return {
    allowed,
    sudo,
    reason: reasonOf(acl, { allowed, operation }, first),
    rule: first === undefined ? null : shown(first),
    others: others.slice(0, mostOthers).map(shown),
  }
}

function reasonOf(
  acl: Acl,
  { allowed, operation }: { readonly allowed: boolean; readonly operation: Exclude<AclOperation, 'help'> },
  decided: Rule | undefined,
): (typeof reasons)[number] {
  if (acl === rootAcl) return 'root'
  if (allowed) return 'granted'
  if (decided === undefined) return acl.unfilled.length > 0 ? 'withheld' : 'no_rule'
  if (decided.grants.isDeny) return 'denied'
  return (decided.grants.bits & requiredBit[operation]) === 0 ? 'not_granted' : 'withheld'
}

const shown = ({ pattern, grants, sources }: Rule) => ({
  path: pattern.text,
  capabilities: capabilityNames(grants.bits),
  policies: [...new Set(sources.map(({ policy }) => policy.name))],
})
