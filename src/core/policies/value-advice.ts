import type { ParameterRules } from './grants.ts'
import type { ParsedPolicy } from './policy.ts'

/** Fields with an older name, which their paths still take. */
const oldNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    token_policies: 'policies',
    token_ttl: 'ttl',
    token_max_ttl: 'max_ttl',
    token_period: 'period',
    token_num_uses: 'num_uses',
    token_bound_cidrs: 'bound_cidrs',
    token_explicit_max_ttl: 'explicit_max_ttl',
    secret_id_bound_cidrs: 'bound_cidr_list',
  }),
)

/**
 * What the author of a policy should know about its rules about values.
 * docs/contract/tokens-and-policies.md#parameters-wrapping-expiration
 */
export function valueAdvice({ stanzas }: ParsedPolicy): string[] {
  return stanzas.flatMap(({ label, grants: { allowedParameters, deniedParameters } }) => {
    const path = 'pattern' in label ? label.pattern.text : label.template.literals.join('{{…}}')
    const where = `path ${JSON.stringify(path)}: `
    return [
      ...listEntries(allowedParameters).map((name) => listText(where, 'allowed_parameters', name)),
      ...listEntries(deniedParameters).map((name) => listText(where, 'denied_parameters', name)),
      ...openOldNames(deniedParameters).map((name) => oldNameText(where, name, 'does not deny')),
      ...(allowedParameters?.has('*') === true
        ? openOldNames(withoutAny(allowedParameters)).map((name) =>
            oldNameText(where, name, 'does not limit'),
          )
        : []),
    ]
  })
}

const listText = (where: string, key: string, name: string): string =>
  `list_entry_never_matches: ${where}${key} of ${JSON.stringify(name)} has a list among its values, which matches only a list of exactly its elements in their order`

const oldNameText = (where: string, name: string, does: string): string =>
  `old_field_name_open: ${where}the rule about ${JSON.stringify(name)} ${does} ${JSON.stringify(oldNames.get(name))}, the old name of that field`

/** The fields that have a list as one of several values. */
const listEntries = (rules: ParameterRules | undefined): string[] =>
  [...(rules ?? [])]
    .filter(([, values]) => values.some(Array.isArray) && !values.every(Array.isArray))
    .map(([name]) => name)

/** The fields under whose old name anything may be sent. */
function openOldNames(rules: ParameterRules | undefined): string[] {
  if (rules === undefined || rules.has('*')) return []
  return [...rules.keys()].filter((name) => {
    const old = oldNames.get(name)
    return old !== undefined && !rules.has(old)
  })
}

/** The rules without the one about all other fields, and without fields that may have any value. */
const withoutAny = (rules: ParameterRules): ParameterRules =>
  new Map([...rules].filter(([name, values]) => name !== '*' && values.length > 0))
