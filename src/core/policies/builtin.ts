import { type ParsedPolicy, parsePolicy } from './policy.ts'

/** The initial text of the policy `default`. docs/contract/tokens-and-policies.md#built-in-policies */
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

# The entity behind the token
path "identity/entity/id/{{identity.entity.id}}" {
  capabilities = ["read"]
}
path "identity/entity/name/{{identity.entity.name}}" {
  capabilities = ["read"]
}

# Leases, by lease ID in the body
path "sys/leases/renew" {
  capabilities = ["update"]
}
path "sys/renew" {
  capabilities = ["update"]
}
path "sys/leases/lookup" {
  capabilities = ["update"]
}

# The token's own cubbyhole, and wrapped responses
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

/** The policy of a wrapping token; immutable. docs/contract/tokens-and-policies.md#built-in-policies */
export const responseWrappingText = `path "cubbyhole/response" {
  capabilities = ["create", "read"]
}
path "sys/wrapping/unwrap" {
  capabilities = ["update"]
}
`

export const responseWrapping: ParsedPolicy = parsePolicy(responseWrappingText)
