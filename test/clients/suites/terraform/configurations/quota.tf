resource "vault_generic_endpoint" "all" {
  path                 = "sys/quotas/rate-limit/terraform"
  ignore_absent_fields = true
  data_json            = jsonencode({ rate = 10000 * var.round, path = "" })
}
