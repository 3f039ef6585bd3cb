resource "vault_mount" "kv1" {
  path = "terraform/kv1"
  type = "kv"
}

resource "vault_mount" "kv2" {
  path    = "terraform/kv2"
  type    = "kv"
  options = { version = "2" }
}

resource "vault_generic_secret" "one" {
  path      = "${vault_mount.kv1.path}/shop/db"
  data_json = jsonencode({ password = "p${var.round}" })
}

resource "vault_generic_secret" "two" {
  path      = "${vault_mount.kv2.path}/shop/db"
  data_json = jsonencode({ password = "p${var.round}" })
}

data "vault_generic_secret" "two" {
  path = vault_generic_secret.two.path
}

output "password" {
  value     = data.vault_generic_secret.two.data["password"]
  sensitive = true
}
