terraform {
  required_providers {
    vault = { source = "hashicorp/vault" }
  }
}

variable "round" { type = number }
variable "jwt_key" { type = string }
variable "audit_file" { type = string }
variable "azure" { type = string }
variable "cluster" { type = string }
variable "application" { type = string }
variable "secret_id" { type = string }
variable "client_secret" { type = string }
