import type { Stanza } from './acl-model.ts'

/** The stanzas as the text of a policy. HCL has no null: a policy with one is written as JSON. */
export function policyText(stanzas: readonly Stanza[], form: 'hcl' | 'json'): string {
  const blocks = stanzas.map((stanza) => [stanza.path, bodyOf(stanza)] as const)
  const asJson = JSON.stringify({ path: blocks.map(([path, body]) => ({ [path]: body })) })
  if (form === 'json' || asJson.includes('null')) return asJson
  return `# rules\n${blocks.map(([path, body]) => `path ${JSON.stringify(path)} ${hcl(body)}`).join('\n')}`
}

function bodyOf({
  capabilities,
  shorthand,
  allowed,
  denied,
  required,
  min,
  max,
  ended,
}: Stanza): Record<string, unknown> {
  const keys = {
    capabilities,
    policy: shorthand,
    allowed_parameters: allowed,
    denied_parameters: denied,
    required_parameters: required,
    min_wrapping_ttl: min === 0 ? undefined : min,
    max_wrapping_ttl: max === 0 ? undefined : `${max}s`,
    expiration: ended ? '2020-01-01T00:00:00Z' : undefined,
  }
  return Object.fromEntries(Object.entries(keys).filter(([, value]) => value !== undefined))
}

function hcl(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(hcl).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)} = ${hcl(item)}`)
  return `{\n${entries.join('\n')}\n}`
}
