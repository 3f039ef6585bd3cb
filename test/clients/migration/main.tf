provider "vault" {}

resource "vault_policy" "job" {
  name   = "terraform-job"
  policy = "path \"team/data/job\" { capabilities = [\"read\"] }\n"
}

resource "vault_generic_secret" "job" {
  path      = "old/job"
  data_json = jsonencode({ password = "of-terraform" })
}

resource "vault_generic_endpoint" "role" {
  path                 = "auth/ci/role/terraform"
  ignore_absent_fields = true
  data_json = jsonencode({
    role_type       = "jwt"
    user_claim      = "sub"
    bound_audiences = ["gatehouse"]
    token_policies  = ["terraform-job"]
  })
}
