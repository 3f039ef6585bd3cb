package main

import (
	"encoding/json"
	"os"
)

const graphScope = "https://graph.microsoft.com/.default"

// cloudOperations runs after the mount azure/ is configured.
func cloudOperations(vault *Client) {
	sys, logical := vault.Sys(), vault.Logical()
	var application map[string]string
	must(json.Unmarshal([]byte(os.Getenv("APPLICATION")), &application))
	read := func(path string) values { return got(logical.Read(path)).Data }
	write := func(path string, data values) *Secret { return got(logical.Write(path, data)) }

	operation("tune the key of a mount's identity tokens", func() {
		write("identity/oidc/key/mounts", values{"allowed_client_ids": "*"})
		write("sys/mounts/azure/tune", values{"identity_token_key": "mounts"})
		expect(read("sys/mounts/azure/tune")["identity_token_key"], "mounts")
		expect(got(sys.MountConfig("azure")).DefaultLeaseTTL > 0, true)
		write("sys/mounts/azure/tune", values{"identity_token_key": "default"})
	})
	operation("read how the cloud engine signs in, check it, and make a root certificate", func() {
		expect(read("azure/config/identity")["auth_type"], "root_creds")
		for _, check := range read("azure/config/check")["checks"].([]any) {
			expect(check.(values)["ok"], true)
		}
		expect(got(logical.Read("azure/config/certificate")), (*Secret)(nil))
		made := write("azure/config/certificate", nil).Data
		expect(read("azure/config/certificate")["thumbprint"], made["thumbprint"])
	})
	operation("issue certificates and assertions of the cloud engine", func() {
		roles := got(json.Marshal([]values{{"role_name": "Reader", "scope": os.Getenv("AZURE_SCOPE")}}))
		write("azure/roles/certificate", values{"azure_roles": string(roles), "credential_type": "certificate"})
		made := got(logical.Read("azure/creds/certificate"))
		expect(made.Data["private_key"] != nil, true)
		must(sys.Revoke(made.LeaseID))
		write("azure/roles/federated", values{
			"credential_type": "federated", "application_object_id": application["id"],
		})
		assertion := got(logical.Read("azure/creds/federated"))
		expect([]any{assertion.LeaseID, assertion.Data["client_id"]}, []any{"", application["appId"]})
	})
	operation("get access tokens of the cloud engine", func() {
		token := write("azure/token/federated", values{"scope": graphScope})
		expect([]any{token.LeaseID, token.Data["token_type"]}, []any{"", "Bearer"})
		kept := got(logical.ReadWithData("azure/token/federated", map[string][]string{"scope": {graphScope}}))
		expect(kept.Data["access_token"], token.Data["access_token"])
		_, err := logical.Write("azure/token/reader", values{"scope": graphScope})
		expectStatus(err, 400)
	})
	operation("write, rotate, read and delete static roles of the cloud engine", func() {
		existing := values{"application_object_id": application["id"], "metadata": values{"team": "billing"}}
		write("azure/static-roles/billing", existing)
		expect(read("azure/static-roles/billing")["metadata"], existing["metadata"])
		expect(got(logical.List("azure/static-roles")).Data["keys"], []any{"billing"})
		first := read("azure/static-creds/billing")
		expect(first["client_id"], application["appId"])
		write("azure/rotate-role/billing", nil)
		expect(read("azure/static-creds/billing")["previous_secret_id"], first["secret_id"])
		token := write("azure/static-creds/billing/token", values{"scope": graphScope})
		expect(token.Data["token_type"], "Bearer")
		got(logical.Delete("azure/static-roles/billing"))
		expect(got(logical.Read("azure/static-roles/billing")), (*Secret)(nil))
		write("azure/static-roles/billing/import", values{
			"application_object_id": application["id"], "skip_import_rotation": true,
			"secret_id": application["keyId"], "client_secret": application["secretText"],
		})
		expect(read("azure/static-creds/billing")["client_secret"], application["secretText"])
	})
	operation("rotate the root of the cloud engine", func() {
		expect(write("azure/rotate-root", nil), (*Secret)(nil))
	})
}
