resource "vault_auth_backend" "approle" {
  type = "approle"
  path = "terraform-approle"
}

# the provider's own resource knows only field names from before Vault 1.2
resource "vault_generic_endpoint" "deploy" {
  path                 = "auth/terraform-approle/role/deploy"
  ignore_absent_fields = true
  data_json = jsonencode({
    role_id            = "terraform-deploy"
    token_policies     = ["terraform-job"]
    token_ttl          = 600 * var.round
    secret_id_num_uses = 100
  })
  depends_on = [vault_auth_backend.approle]
}

resource "vault_approle_auth_backend_role_secret_id" "deploy" {
  backend   = vault_auth_backend.approle.path
  role_name = "deploy"
  metadata  = jsonencode({ round = tostring(var.round) })
  cidr_list = ["127.0.0.0/8"]

  depends_on = [vault_generic_endpoint.deploy]
}

resource "vault_approle_auth_backend_login" "deploy" {
  backend   = vault_auth_backend.approle.path
  role_id   = "terraform-deploy"
  secret_id = vault_approle_auth_backend_role_secret_id.deploy.secret_id
}

data "vault_approle_auth_backend_role_id" "deploy" {
  backend   = vault_auth_backend.approle.path
  role_name = "deploy"

  depends_on = [vault_generic_endpoint.deploy]
}

output "role_id" {
  value = data.vault_approle_auth_backend_role_id.deploy.role_id
}
