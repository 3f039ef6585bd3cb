resource "vault_mount" "azure" {
  path = "terraform-static"
  type = "azure"
}

resource "vault_generic_endpoint" "config" {
  path                 = "${vault_mount.azure.path}/config"
  ignore_absent_fields = true
  data_json            = var.azure
}

resource "vault_generic_endpoint" "static_role" {
  path                 = "${vault_mount.azure.path}/static-roles/billing"
  ignore_absent_fields = true
  data_json = jsonencode({
    application_object_id = var.application
    ttl                   = 31536000 * var.round
    metadata              = { round = tostring(var.round) }
  })
  depends_on = [vault_generic_endpoint.config]
}

resource "vault_generic_endpoint" "imported" {
  path                 = "${vault_mount.azure.path}/static-roles/imported"
  ignore_absent_fields = true
  data_json = jsonencode({
    application_object_id = var.application
    secret_id             = var.secret_id
    client_secret         = var.client_secret
    skip_import_rotation  = true
    rotation_grace_period = 300 * var.round
  })
  depends_on = [vault_generic_endpoint.config]
}

data "vault_generic_secret" "password" {
  path       = "${vault_mount.azure.path}/static-creds/billing"
  depends_on = [vault_generic_endpoint.static_role]
}

output "client_id" {
  value     = data.vault_generic_secret.password.data["client_id"]
  sensitive = true
}
