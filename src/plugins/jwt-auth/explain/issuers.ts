/** What the tokens of a well-known issuer contain. */
export type KnownIssuer = {
  readonly host: RegExp
  /** Claims that distinguish the issuer's customers; undefined if it has only one. */
  readonly owners?: readonly string[]
  /** Which of them to bind, as text. */
  readonly bind?: string
  /** A claim that identifies the subject permanently. */
  readonly stable: string
  /** Its tokens do not say whether an address is verified. */
  readonly lacksVerifiedEmail?: true
}

const anyTenant: Pick<KnownIssuer, 'stable' | 'lacksVerifiedEmail'> = {
  stable: 'oid',
  lacksVerifiedEmail: true,
}

/** The first one that fits is used. */
const knownIssuers: readonly KnownIssuer[] = [
  {
    ...anyTenant,
    host: /^https:\/\/login\.microsoftonline\.(?:com|us)\/(?:common|organizations|consumers)(?:\/|$)/,
    owners: ['tid'],
    bind: 'tid',
  },
  {
    ...anyTenant,
    host: /^https:\/\/(?:login\.microsoftonline\.(?:com|us)|login\.partner\.microsoftonline\.cn|sts\.windows\.net)(?:\/|$)/,
  },
  {
    host: /^(?:https:\/\/)?accounts\.google\.com\/?$/,
    owners: ['hd', 'sub', 'email'],
    bind: 'hd',
    stable: 'sub',
  },
  {
    host: /^https:\/\/token\.actions\.githubusercontent\.com\/?$/,
    owners: [
      'repository_owner_id',
      'repository_id',
      'repository_owner',
      'repository',
      'enterprise',
      'enterprise_id',
      'sub',
    ],
    bind: 'repository_owner_id or repository_id',
    stable: 'repository_id',
  },
  {
    host: /^https:\/\/gitlab\.com\/?$/,
    owners: ['namespace_id', 'project_id', 'namespace_path', 'project_path', 'sub'],
    bind: 'namespace_id or project_id',
    stable: 'project_id',
  },
  {
    host: /^https:\/\/app\.terraform\.io\/?$/,
    owners: ['terraform_organization_id', 'terraform_organization_name', 'terraform_workspace_id', 'sub'],
    bind: 'terraform_organization_id or terraform_workspace_id',
    stable: 'terraform_workspace_id',
  },
  {
    host: /^https:\/\/agent\.buildkite\.com\/?$/,
    owners: ['organization_id', 'organization_slug', 'pipeline_id', 'sub'],
    bind: 'organization_id or pipeline_id',
    stable: 'pipeline_id',
  },
]

const maxIssuer = 256

export const knownIssuer = (issuer: string): KnownIssuer | undefined =>
  knownIssuers.find(({ host }) => host.test(issuer.slice(0, maxIssuer)))
