resource "vault_namespace" "team" {
  path = "terraform-team-${var.round}"
}
