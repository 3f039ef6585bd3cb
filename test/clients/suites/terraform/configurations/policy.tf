resource "vault_policy" "job" {
  name   = "terraform-job"
  policy = "path \"jobs/${var.round}\" { capabilities = [\"read\"] }\n"
}
