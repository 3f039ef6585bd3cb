resource "vault_audit" "file" {
  type        = "file"
  path        = "terraform"
  description = "round ${var.round}"
  options     = { file_path = var.audit_file }
}
