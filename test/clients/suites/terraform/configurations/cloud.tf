resource "vault_mount" "azure" {
  path = "terraform-azure"
  type = "azure"
}

resource "vault_generic_endpoint" "config" {
  path = "${vault_mount.azure.path}/config"
  # the leases of the mount need it until the end
  disable_delete       = true
  ignore_absent_fields = true
  data_json            = jsonencode(merge(jsondecode(var.azure), { root_password_ttl = 86400 * var.round }))
}

resource "vault_generic_endpoint" "role" {
  path                 = "${vault_mount.azure.path}/roles/existing"
  ignore_absent_fields = true
  data_json = jsonencode({
    application_object_id = var.application
    ttl                   = 600 * var.round
    max_ttl               = 86400
  })
  depends_on = [vault_generic_endpoint.config]
}

resource "vault_generic_endpoint" "federated" {
  path                 = "${vault_mount.azure.path}/roles/federated"
  ignore_absent_fields = true
  data_json = jsonencode({
    credential_type       = "federated"
    application_object_id = var.application
    allowed_scopes        = ["https://graph.microsoft.com/.default", "https://vault.azure.net/.default"]
    ttl                   = 600 * var.round
  })
  depends_on = [vault_generic_endpoint.config]
}

data "vault_generic_secret" "credentials" {
  path       = "${vault_mount.azure.path}/creds/existing"
  depends_on = [vault_generic_endpoint.role]
}

output "client_id" {
  value     = data.vault_generic_secret.credentials.data["client_id"]
  sensitive = true
}
