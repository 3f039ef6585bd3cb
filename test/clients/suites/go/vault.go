//go:build vault

package main

import (
	"github.com/hashicorp/vault/api"
	"github.com/hashicorp/vault/api/auth/approle"
	"github.com/hashicorp/vault/api/auth/kubernetes"
	"github.com/hashicorp/vault/api/auth/userpass"
)

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

func approleLogin(client *Client, roleID, secretID string) (*Secret, error) {
	return client.Auth().Login(background, got(approle.NewAppRoleAuth(roleID, &approle.SecretID{FromString: secretID})))
}

func wrappedApproleLogin(client *Client, roleID, wrapping string) (*Secret, error) {
	wrapped := &approle.SecretID{FromString: wrapping}
	method := got(approle.NewAppRoleAuth(roleID, wrapped, approle.WithWrappingToken()))
	return client.Auth().Login(background, method)
}

func kubernetesLogin(client *Client, role, jwt string) (*Secret, error) {
	token := kubernetes.WithServiceAccountToken(jwt)
	method := got(kubernetes.NewKubernetesAuth(role, token, kubernetes.WithMountPath("pods")))
	return client.Auth().Login(background, method)
}

func userpassLogin(client *Client, name, password string) (*Secret, error) {
	method := got(userpass.NewUserpassAuth(name, &userpass.Password{FromString: password}))
	return client.Auth().Login(background, method)
}

func ownKvOperations(*Client) {}
