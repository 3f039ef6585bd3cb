//go:build openbao

package main

import "github.com/openbao/openbao/api/v2"

type (
	Client        = api.Client
	Secret        = api.Secret
	MountInput    = api.MountInput
	MountConfig   = api.MountConfigInput
	TokenRequest  = api.TokenCreateRequest
	AuditOptions  = api.EnableAuditOptions
	AuthOptions   = api.EnableAuthOptions
	ResponseError = api.ResponseError
	MetadataPut   = api.KVMetadataPutInput
	MetadataPatch = api.KVMetadataPatchInput
)

var (
	ErrSecretNotFound = api.ErrSecretNotFound
	WithCheckAndSet   = api.WithCheckAndSet
	WithMergeMethod   = api.WithMergeMethod
)

func newClient() (*Client, error) { return api.NewClient(api.DefaultConfig()) }

// The module proxy has none of OpenBao's login helpers.

func approleLogin(client *Client, roleID, secretID string) (*Secret, error) {
	return client.Logical().Write("auth/approle/login", values{"role_id": roleID, "secret_id": secretID})
}

func wrappedApproleLogin(client *Client, roleID, wrapping string) (*Secret, error) {
	return approleLogin(client, roleID, got(client.Logical().Unwrap(wrapping)).Data["secret_id"].(string))
}

func kubernetesLogin(client *Client, role, jwt string) (*Secret, error) {
	return client.Logical().Write("auth/pods/login", values{"role": role, "jwt": jwt})
}

func userpassLogin(client *Client, name, password string) (*Secret, error) {
	return client.Logical().Write("auth/userpass/login/"+name, values{"password": password})
}

func ownKvOperations(vault *Client) {
	kv := vault.KVv2("kv2")
	operation("list and scan secrets with their metadata (kv, version 2)", func() {
		got(kv.Put(background, "app", values{"password": "p"}))
		expect(got(kv.List(background, "")).Keys, []string{"app", "team/"})
		expect(got(kv.Scan(background, "")).Keys, []string{"app", "team/app"})
		expect(got(kv.ListWithDetails(background, "")).Metadata["app"].CurrentVersion, 1)
		expect(len(got(kv.ScanWithDetails(background, "")).Metadata), 2)
		expect(got(vault.Logical().ListPage("kv2/metadata", "app", 1)).Data["keys"], []any{"team/"})
	})
}
