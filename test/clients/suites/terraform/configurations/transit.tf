resource "vault_mount" "transit" {
  path = "terraform-transit"
  type = "transit"
}
