resource "vault_auth_backend" "people" {
  type = "userpass"
  path = "terraform-people"
}

resource "vault_identity_entity" "ada" {
  name     = "terraform-ada"
  policies = ["terraform-job"]
  metadata = { round = tostring(var.round) }
}

resource "vault_identity_entity_alias" "ada" {
  name           = "ada"
  mount_accessor = vault_auth_backend.people.accessor
  canonical_id   = vault_identity_entity.ada.id
}

resource "vault_identity_group" "builders" {
  name              = "terraform-builders"
  type              = "internal"
  member_entity_ids = [vault_identity_entity.ada.id]
  metadata          = { round = tostring(var.round) }
  external_policies = true
}

resource "vault_identity_group_policies" "builders" {
  group_id = vault_identity_group.builders.id
  policies = ["terraform-job"]
}

resource "vault_identity_group" "directory" {
  name = "terraform-directory"
  type = "external"
}

resource "vault_identity_group_alias" "directory" {
  name           = "builders"
  mount_accessor = vault_auth_backend.people.accessor
  canonical_id   = vault_identity_group.directory.id
}
