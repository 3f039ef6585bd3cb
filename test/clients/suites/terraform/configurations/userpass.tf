resource "vault_auth_backend" "userpass" {
  type                      = "userpass"
  path                      = "terraform-userpass"
  default_lease_ttl_seconds = 600 * var.round
}

resource "vault_generic_endpoint" "ada" {
  path                 = "auth/terraform-userpass/users/ada"
  ignore_absent_fields = true
  data_json = jsonencode({
    password       = "correct horse"
    token_policies = ["terraform-${var.round}"]
  })
  depends_on = [vault_auth_backend.userpass]
}
