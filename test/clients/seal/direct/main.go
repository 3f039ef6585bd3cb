// Reads a secret with the Go clients of OpenBao and Vault without a login beforehand: the login in the headers of
// each request, and the JWT as the token.
//
// usage: direct URL JWT NAMESPACE. Prints `done`; panics if an answer is not what their callers expect.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	vault "github.com/hashicorp/vault/api"
	bao "github.com/openbao/openbao/api/v2"
)

type values = map[string]any

var background = context.Background()

func expect(isTrue bool, what string, seen any) {
	if !isTrue {
		panic(fmt.Sprintf("%s: %+v", what, seen))
	}
}

func got[T any](value T, err error) T {
	expect(err == nil, "error", err)
	return value
}

func main() {
	url, jwt, namespace := os.Args[1], os.Args[2], os.Args[3]
	client := got(bao.NewClient(&bao.Config{Address: url}))
	client.SetToken("not used")
	inline(client, jwt, namespace)
	asTokenOfBao(client, jwt)
	asTokenOfVault(got(vault.NewClient(&vault.Config{Address: url})), jwt)
	fmt.Println("done")
}

func inline(client *bao.Client, jwt, namespace string) {
	login := values{"role": "ci", "jwt": jwt}
	for _, options := range [][]bao.InlineAuthOpts{nil, {bao.InlineWithOperation("update"), bao.InlineWithNamespace("")}} {
		carried := got(client.WithInlineAuth("auth/jwt/login", login, options...))
		expect(carried.Token() == "", "token", carried.Token())
		secret := got(carried.KVv2("shop").Get(background, "db"))
		expect(secret.Data["password"] == "p", "secret", secret.Data)
		self := got(carried.Auth().Token().LookupSelf())
		expect(self.Data["display_name"] == "jwt-build-7", "lookup-self", self.Data)
	}
	carried := got(client.WithInlineAuth("auth/jwt/login", login, bao.InlineWithNamespace(namespace)))
	_, err := carried.KVv2("shop").Get(background, "db")
	expectStatus(err, 403)
	_, err = got(client.WithInlineAuth("auth/jwt/login", values{"role": "ci", "jwt": jwt + "x"})).Logical().Read("shop/data/db")
	var refused *bao.ResponseError
	expect(errors.As(err, &refused) && refused.StatusCode == 400, "a wrong JWT", err)
	_, err = carried.KVv2("shop").Put(background, "other", values{})
	expectStatus(err, 403)
}

func expectStatus(err error, status int) {
	var refused *bao.ResponseError
	expect(errors.As(err, &refused) && refused.StatusCode == status, fmt.Sprintf("expected %d", status), err)
}

func asTokenOfBao(client *bao.Client, jwt string) {
	own := got(client.Clone())
	own.SetToken(jwt)
	secret := got(own.KVv2("shop").Get(background, "db"))
	expect(secret.Data["password"] == "p", "secret", secret.Data)
}

func asTokenOfVault(client *vault.Client, jwt string) {
	client.SetToken(jwt)
	secret := got(client.KVv2("shop").Get(background, "db"))
	expect(secret.Data["password"] == "p", "secret", secret.Data)
	self := got(client.Auth().Token().LookupSelf())
	expect(got(self.TokenID()) == jwt, "id of the token", self.Data["id"])
	expect(!got(self.TokenIsRenewable()), "renewable", self.Data)
	_, err := client.Auth().Token().RenewSelf(60)
	expect(err != nil && strings.Contains(err.Error(), "batch tokens cannot be renewed"), "renew-self", err)
	_, err = client.Auth().Token().Create(&vault.TokenCreateRequest{})
	expect(err != nil && strings.Contains(err.Error(), "set skip_child_token = true"), "a child token", err)
	client.SetToken(jwt[:len(jwt)-2] + "xx")
	_, err = client.KVv2("shop").Get(background, "db")
	expect(err != nil && strings.Contains(err.Error(), "permission denied"), "another signature", err)
}
