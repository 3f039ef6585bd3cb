locals {
  cluster = jsondecode(var.cluster)
}

resource "vault_auth_backend" "pods" {
  type = "kubernetes"
  path = "terraform-pods"
}

resource "vault_kubernetes_auth_backend_config" "pods" {
  backend            = vault_auth_backend.pods.path
  kubernetes_host    = "${local.cluster.host}/${var.round}"
  kubernetes_ca_cert = local.cluster.ca_cert
  token_reviewer_jwt = local.cluster.reviewer
}

# this version of the provider knows only field names from before Vault 1.2, and no audience; it sends neither num_uses nor bound_cidrs
resource "vault_kubernetes_auth_backend_role" "web" {
  backend                          = vault_auth_backend.pods.path
  role_name                        = "web"
  bound_service_account_names      = ["web", "job"]
  bound_service_account_namespaces = ["dev"]
  ttl                              = 600 * var.round
  max_ttl                          = 3600
  policies                         = ["terraform-job"]
}

data "vault_kubernetes_auth_backend_config" "pods" {
  backend    = vault_auth_backend.pods.path
  depends_on = [vault_kubernetes_auth_backend_config.pods]
}

data "vault_kubernetes_auth_backend_role" "web" {
  backend    = vault_auth_backend.pods.path
  role_name  = "web"
  depends_on = [vault_kubernetes_auth_backend_role.web]
}

output "read_back" {
  value = [
    data.vault_kubernetes_auth_backend_config.pods.kubernetes_host,
    data.vault_kubernetes_auth_backend_role.web.ttl,
  ]
}
