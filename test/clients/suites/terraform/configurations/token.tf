resource "vault_token_auth_backend_role" "deploy" {
  role_name           = "terraform-deploy"
  allowed_policies    = ["terraform-job", "terraform-${var.round}"]
  disallowed_policies = ["default"]
  orphan              = true
  renewable           = true
  explicit_max_ttl    = 86400
}

resource "vault_token" "deploy" {
  policies     = ["terraform-job"]
  display_name = "deploy"
  ttl          = "24h"
  no_parent    = true
}
