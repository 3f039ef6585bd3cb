import { type ParsedPolicy, parsePolicy } from './policy.ts'

/** What `default` says until someone changes it. docs/contract/tokens-and-policies.md#built-in-policies */
export const defaultPolicyText = `# The token itself
path "auth/token/lookup-self" {
  capabilities = ["read"]
}
path "auth/token/renew-self" {
  capabilities = ["update"]
}
path "auth/token/revoke-self" {
  capabilities = ["update"]
}
path "sys/capabilities-self" {
  capabilities = ["update"]
}
path "sys/internal/ui/resultant-acl" {
  capabilities = ["read"]
}

# Whose token it is
path "identity/entity/id/{{identity.entity.id}}" {
  capabilities = ["read"]
}
path "identity/entity/name/{{identity.entity.name}}" {
  capabilities = ["read"]
}

# Leases, by the id in the body
path "sys/leases/renew" {
  capabilities = ["update"]
}
path "sys/renew" {
  capabilities = ["update"]
}
path "sys/leases/lookup" {
  capabilities = ["update"]
}

# A place of its own, and wrapped answers
path "cubbyhole/*" {
  capabilities = ["create", "read", "update", "delete", "list"]
}
path "sys/wrapping/wrap" {
  capabilities = ["update"]
}
path "sys/wrapping/lookup" {
  capabilities = ["update"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}

# Hashes
path "sys/tools/hash" {
  capabilities = ["update"]
}
path "sys/tools/hash/*" {
  capabilities = ["update"]
}

# Signing in to other applications
path "identity/oidc/provider/+/authorize" {
  capabilities = ["read", "update"]
}
`

/**
 * What a wrapping token holds; nobody can change it. docs/contract/tokens-and-policies.md#built-in-policies
 */
export const responseWrappingText = `path "cubbyhole/response" {
  capabilities = ["create", "read"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}
`

export const responseWrapping: ParsedPolicy = parsePolicy(responseWrappingText)
