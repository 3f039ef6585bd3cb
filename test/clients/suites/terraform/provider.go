//go:build tools

// Names the program that `npm run conformance` builds: Terraform's Vault provider.
package provider

import _ "github.com/terraform-providers/terraform-provider-vault"
