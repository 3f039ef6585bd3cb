/** A CI system whose jobs log in with signed tokens: docs/providers. */
export type CiPreset = {
  readonly name: string
  readonly mount: string
  readonly issuer: string
  /** The claim that names whoever owns the projects, by a number that nobody inherits. */
  readonly owner: string
  readonly project: string
  readonly userClaim: string
}

export const ciPresets: readonly CiPreset[] = [
  {
    name: 'GitHub Actions',
    mount: 'github',
    issuer: 'https://token.actions.githubusercontent.com',
    owner: 'repository_owner_id',
    project: 'repository',
    userClaim: 'repository_id',
  },
  {
    name: 'GitLab CI',
    mount: 'gitlab',
    issuer: 'https://gitlab.com',
    owner: 'namespace_id',
    project: 'project_path',
    userClaim: 'project_id',
  },
]
