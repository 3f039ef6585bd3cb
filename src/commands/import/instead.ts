/** The substitute for a login method that Gatehouse does not have. docs/compatibility.md#login-methods */
const methods: Readonly<Record<string, string>> = {
  ldap: 'people log in with oidc at the OpenID provider of the directory; until it has one, keep the source for them',
  radius: 'people log in with oidc at the OpenID provider of the directory',
  kerberos: 'people log in with oidc at the OpenID provider of the directory',
  github: 'jobs log in with jwt (GitHub Actions), people with oidc',
  cert: 'the listener checks client certificates; machines log in with jwt or approle',
  okta: 'people log in with oidc at Okta',
  saml: 'people log in with oidc at the same provider',
  ...Object.fromEntries(
    ['aws', 'azure', 'gcp', 'alicloud', 'oci', 'cf'].map((type) => [
      type,
      'workloads log in with jwt and their identity token',
    ]),
  ),
}

/** The substitute for a secrets engine that Gatehouse does not have. docs/compatibility.md#secrets-engines */
const engines: Readonly<Record<string, string>> = {
  transit:
    'keep the source for it, or encrypt anew with a KMS, age or Tink: its keys decrypt what is stored elsewhere',
  transform: 'keep the source for it: its keys decrypt what is stored elsewhere',
  kmip: 'keep the source for it',
  pki: 'keep the source for it, or let cert-manager or step-ca issue: clients trust its authority',
  ssh: 'keep the source for it, or let step-ca issue: hosts trust its authority',
  database: 'keep the source for it, use cloud identities for databases, or a kv secret that a job rotates',
  totp: 'keep the source for it',
  ldap: 'keep the source for it, or a kv secret that a job rotates',
  cloud: 'write its configuration, with the secret of its root, and its roles to the target by hand',
  azure: 'write its configuration, with the secret of its root, and its roles to the target by hand',
  ...Object.fromEntries(
    ['aws', 'gcp', 'consul', 'nomad', 'rabbitmq', 'kubernetes'].map((type) => [
      type,
      'federate identities where the platform can, or keep the source for it',
    ]),
  ),
}

const otherwise = 'Gatehouse has no such type: keep the source for it'

const insteadOf = (table: Readonly<Record<string, string>>, type: string): string =>
  (Object.hasOwn(table, type) ? table[type] : undefined) ?? otherwise

export const insteadOfMethod = (type: string): string => insteadOf(methods, type)
export const insteadOfEngine = (type: string): string => insteadOf(engines, type)
