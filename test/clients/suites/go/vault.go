//go:build vault

package main

import "github.com/hashicorp/vault/api"

type (
	Client        = api.Client
	Secret        = api.Secret
	MountInput    = api.MountInput
	MountConfig   = api.MountConfigInput
	TokenRequest  = api.TokenCreateRequest
	AuditOptions  = api.EnableAuditOptions
	AuthOptions   = api.EnableAuthOptions
	ResponseError = api.ResponseError
)

func newClient() (*Client, error) { return api.NewClient(api.DefaultConfig()) }
