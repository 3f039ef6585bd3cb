package main

import (
	"encoding/json"
	"os"
)

func loginOperations(vault *Client) {
	sys, logical := vault.Sys(), vault.Logical()
	role := "auth/approle/role/job"
	generate := func() values { return got(logical.Write(role+"/secret-id", values{"metadata": `{"build":"7"}`})).Data }

	operation("write, read, list and delete an AppRole", func() {
		must(sys.EnableAuthWithOptions("approle", &AuthOptions{Type: "approle"}))
		got(logical.Write(role, values{"token_policies": "job", "role_id": "job-1"}))
		expect(got(logical.Read(role)).Data["token_policies"], []any{"job"})
		got(logical.Write("auth/approle/role/gone", nil))
		got(logical.Delete("auth/approle/role/gone"))
		expect(got(logical.List("auth/approle/role")).Data["keys"], []any{"job"})
		expect(got(logical.Read("auth/approle/role/gone")), (*Secret)(nil))
		expect(got(logical.Read(role + "/role-id")).Data["role_id"], "job-1")
	})
	operation("generate, look up, list and destroy secret ids of an AppRole", func() {
		made := generate()
		found := got(logical.Write(role+"/secret-id/lookup", values{"secret_id": made["secret_id"]}))
		expect(found.Data["metadata"], values{"build": "7"})
		accessor := values{"secret_id_accessor": made["secret_id_accessor"]}
		got(logical.Write(role+"/secret-id-accessor/lookup", accessor))
		expect(got(logical.List(role + "/secret-id")).Data["keys"], []any{made["secret_id_accessor"]})
		got(logical.Write(role+"/secret-id-accessor/destroy", accessor))
		gone := got(logical.Write(role+"/secret-id/lookup", values{"secret_id": made["secret_id"]}))
		expect(gone, (*Secret)(nil))
	})
	operation("log in with AppRole", func() {
		own := withToken("")
		login := got(approleLogin(own, "job-1", generate()["secret_id"].(string)))
		expect(got(login.TokenPolicies()), []string{"default", "job"})
		expect(got(login.TokenMetadata()), map[string]string{"build": "7", "role_name": "job"})
		own.SetToken(got(login.TokenID()))
		expect(got(own.Auth().Token().LookupSelf()).Data["path"], "auth/approle/login")
		_, err := approleLogin(withToken(""), "job-1", "wrong")
		expectStatus(err, 400)
	})
	operation("log in with AppRole and a wrapped secret id", func() {
		wrapper := withToken(vault.Token())
		wrapper.SetWrappingLookupFunc(func(string, string) string { return "60s" })
		wrapped := got(wrapper.Logical().Write(role+"/secret-id", nil)).WrapInfo
		expect(wrapped.WrappedAccessor != "", true)
		login := got(wrappedApproleLogin(withToken(""), "job-1", wrapped.Token))
		expect(got(login.TokenPolicies()), []string{"default", "job"})
	})
	operation("write, read, list and delete a user (userpass)", func() {
		must(sys.EnableAuthWithOptions("userpass", &AuthOptions{Type: "userpass"}))
		got(logical.Write("auth/userpass/users/ada", values{"password": "correct horse", "token_policies": "job"}))
		got(logical.Write("auth/userpass/users/gone", values{"password": "gone"}))
		got(logical.Delete("auth/userpass/users/gone"))
		expect(got(logical.List("auth/userpass/users")).Data["keys"], []any{"ada"})
		expect(got(logical.Read("auth/userpass/users/ada")).Data["token_policies"], []any{"job"})
	})
	operation("log in with a username and password", func() {
		own := withToken("")
		login := got(userpassLogin(own, "ada", "correct horse"))
		expect(got(login.TokenPolicies()), []string{"default", "job"})
		own.SetToken(got(login.TokenID()))
		expect(got(own.Auth().Token().RenewSelf(60)).Auth.LeaseDuration, 60)
		_, err := userpassLogin(withToken(""), "ada", "wrong")
		expectStatus(err, 400)
	})
	operation("change a password (userpass)", func() {
		got(logical.Write("auth/userpass/users/ada/password", values{"password": "battery staple"}))
		_, err := userpassLogin(withToken(""), "ada", "correct horse")
		expectStatus(err, 400)
		got(userpassLogin(withToken(""), "ada", "battery staple"))
	})
	operation("configure the kubernetes method and log in with the token of a service account", func() {
		var cluster struct {
			Host, Reviewer, Audience, Jwt string
			CaCert                        string `json:"ca_cert"`
		}
		must(json.Unmarshal([]byte(os.Getenv("CLUSTER")), &cluster))
		must(sys.EnableAuthWithOptions("pods", &AuthOptions{Type: "kubernetes"}))
		got(logical.Write("auth/pods/config", values{
			"kubernetes_host": cluster.Host, "kubernetes_ca_cert": cluster.CaCert,
			"token_reviewer_jwt": cluster.Reviewer, "disable_local_ca_jwt": true,
		}))
		got(logical.Write("auth/pods/role/web", values{
			"bound_service_account_names": []string{"web"}, "bound_service_account_namespaces": []string{"dev"},
			"audience": cluster.Audience, "token_policies": "job",
		}))
		login := got(kubernetesLogin(withToken(""), "web", cluster.Jwt))
		expect(got(login.TokenPolicies()), []string{"default", "job"})
		expect(got(login.TokenMetadata())["service_account_name"], "web")
		_, err := kubernetesLogin(withToken(""), "web", "a.b.c")
		expectStatus(err, 403)
	})
}
