export const pathsPerPolicy = 20

export const manyPolicyNames = (count: number): string[] =>
  Array.from({ length: count }, (_, index) => `team-${index}`)

/** Policies as of a large company: one per team, each with exact paths, prefixes, wildcards and a denial. */
export const manyPolicies = (count: number): { name: string; text: string }[] =>
  manyPolicyNames(count).map((name) => ({ name, text: textOf(name) }))

function textOf(team: string): string {
  const own = Array.from({ length: pathsPerPolicy - 6 }, (_, index) =>
    rule(`auth/jwt/role/${team}-${index}`, 'read", "update'),
  )
  return [
    ...own,
    rule(`secret/${team}/*`, 'create", "read", "update", "delete", "list'),
    rule(`secret/${team}/+/db`, 'read'),
    rule(`secret/${team}/locked/*`, 'deny'),
    rule(`cloud/${team}/creds/+`, 'read'),
    rule(`cloud/+/creds/${team}`, 'list'),
    rule(`+/${team}/a/*`, 'read", "list'),
  ].join('\n')
}

const rule = (path: string, capabilities: string) =>
  `path "${path}" {\n  capabilities = ["${capabilities}"]\n}`
