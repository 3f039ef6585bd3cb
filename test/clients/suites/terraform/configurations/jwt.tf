resource "vault_jwt_auth_backend" "jobs" {
  path                   = "terraform-jwt"
  description            = "pipelines"
  jwt_validation_pubkeys = [var.jwt_key]
  bound_issuer           = "https://issuer.example.com/${var.round}"
}

# the provider's own resource knows only field names from before Vault 1.2
resource "vault_generic_endpoint" "build" {
  path                 = "auth/terraform-jwt/role/build"
  ignore_absent_fields = true
  data_json = jsonencode({
    role_type       = "jwt"
    user_claim      = "sub"
    bound_audiences = ["ci"]
    bound_claims    = { ref = "refs/heads/${var.round}" }
    token_policies  = ["terraform-job"]
    token_ttl       = 600 * var.round
  })
  depends_on = [vault_jwt_auth_backend.jobs]
}
