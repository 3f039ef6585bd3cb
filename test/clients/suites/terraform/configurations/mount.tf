resource "vault_mount" "azure" {
  path                      = "terraform/azure-${var.round}"
  type                      = "azure"
  description               = "credentials"
  default_lease_ttl_seconds = 3600 * var.round
  max_lease_ttl_seconds     = 86400

  # a key that a mount names cannot be deleted
  depends_on = [vault_generic_endpoint.key]
}

resource "vault_generic_endpoint" "key" {
  path                 = "identity/oidc/key/terraform"
  ignore_absent_fields = true
  data_json            = jsonencode({ allowed_client_ids = ["*"], rotation_period = 86400 * var.round })
}

resource "vault_generic_endpoint" "tune" {
  path                 = "sys/mounts/${vault_mount.azure.path}/tune"
  disable_delete       = true
  ignore_absent_fields = true
  data_json            = jsonencode({ identity_token_key = "terraform" })
}
