/** Claims whose whole value names an owner or an issuer. */
const ownerClaims: ReadonlySet<string> = new Set([
  'repository_owner',
  'repository_owner_id',
  'organization',
  'organization_slug',
  'organization_id',
  'hd',
  'tid',
  'namespace_id',
  'terraform_organization_id',
  'terraform_organization_name',
  'enterprise',
  'enterprise_id',
  'iss',
])

const firstStep = /^[^/]+\//

/**
 * Forms of `sub`, each with the part that must precede a `*`: `system:serviceaccount:prod:…` (Kubernetes),
 * `organization:acme:…` (Terraform, Buildkite), `org/<id>/…` (CircleCI), `spiffe://domain/…`, `sc://acme/…`
 * (Azure DevOps), and `repo:acme/…`, `project_path:acme/…` or `acme/…`.
 */
const subjectForms: readonly (readonly [form: RegExp, owner: RegExp])[] = [
  [/^system:serviceaccount:/, /^system:serviceaccount:[^:]+:/],
  [/^organization:/, /^organization:[^:]+:/],
  [/^org\//, /^org\/[^/]+\//],
  [/^[a-z][a-z0-9+.-]{0,31}:\/\//i, /^[^:]+:\/\/[^/]+\//],
  [/^/, /^(?:[a-z_]{1,32}:)?[^/:]+\//],
]

/** Claims that begin with an owner, with the part that must precede a `*` so that the owner is complete. */
const ownerOf: ReadonlyMap<string, (beforeStar: string) => RegExp | undefined> = new Map([
  ['sub', (start: string) => subjectForms.find(([form]) => form.test(start))?.[1]],
  ...['repository', 'project_path', 'namespace_path', 'workflow_ref', 'job_workflow_ref'].map(
    (claim) => [claim, () => firstStep] as const,
  ),
  // a host precedes the group
  ['ci_config_ref_uri', () => /^[^/]+\/[^/]+\//],
])

/** Whether a claim names an owner and nothing else. */
export const namesOwner = (claim: string): boolean => ownerClaims.has(claim) && claim !== 'iss'

/** Whether the value of a claim begins with an owner and continues after it. */
export const beginsWithOwner = (claim: string): boolean => ownerOf.has(claim)

/** Whether a pattern with this text before its first `*` accepts tokens of several owners. */
export function leavesOwnerOpen(claim: string, beforeStar: string): boolean {
  if (ownerClaims.has(claim)) return true
  const owner = ownerOf.get(claim)
  return owner !== undefined && owner(beforeStar)?.test(beforeStar) !== true
}
