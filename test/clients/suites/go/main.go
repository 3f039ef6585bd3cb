// Runs the operations of a Go client, and prints a line of JSON for each. The environment is that of
// ../hvac/driver.py; the build tag names the client.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"time"
)

type values = map[string]any

var background = context.Background()

func operation(name string, body func()) {
	request, err := http.NewRequest("PUT", os.Getenv("CONTROL_URL")+"?operation="+url.QueryEscape(name), nil)
	must(err)
	response, err := http.DefaultClient.Do(request)
	must(err)
	response.Body.Close()
	line := map[string]string{"operation": name}
	func() {
		defer func() {
			if failure := recover(); failure != nil {
				line["error"] = fmt.Sprint(failure)
			}
		}()
		body()
	}()
	must(json.NewEncoder(os.Stdout).Encode(line))
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func got[T any](value T, err error) T {
	must(err)
	return value
}

func expect(seen, wanted any) {
	if !reflect.DeepEqual(seen, wanted) {
		panic(fmt.Sprintf("expected %v, received %v", wanted, seen))
	}
}

func expectStatus(err error, status int) {
	var refused *ResponseError
	if !errors.As(err, &refused) || refused.StatusCode != status {
		panic(fmt.Sprintf("expected status %d, received %v", status, err))
	}
}

func withToken(token string) *Client {
	client := got(newClient())
	client.SetToken(token)
	return client
}

func main() {
	vault := got(newClient())
	sys, logical, token := vault.Sys(), vault.Logical(), vault.Auth().Token()

	operation("read the health", func() { expect(got(sys.Health()).Sealed, false) })
	operation("read the seal status", func() {
		expect(got(sys.SealStatus()).Sealed, false)
		expect(got(sys.InitStatus()), true)
	})
	operation("read the leader", func() { got(sys.Leader()) })
	operation("read the key status", func() { expect(got(sys.KeyStatus()).Term, 1) })
	operation("write, read, list and delete a policy", func() {
		rules := `path "auth/token/lookup-self" { capabilities = ["read"] }`
		must(sys.PutPolicy("job", rules))
		expect(got(sys.GetPolicy("job")), rules)
		must(sys.PutPolicy("gone", rules))
		must(sys.DeletePolicy("gone"))
		expect(slices.Contains(got(sys.ListPolicies()), "gone"), false)
	})
	operation("enable, list, tune and move an auth method", func() {
		must(sys.EnableAuthWithOptions("ci", &AuthOptions{Type: "jwt", Description: "pipelines"}))
		expect(got(sys.ListAuth())["ci/"].Type, "jwt")
		must(sys.TuneMount("auth/ci", MountConfig{DefaultLeaseTTL: "10m"}))
		expect(got(sys.MountConfig("auth/ci")).DefaultLeaseTTL, 600)
		must(sys.Remount("auth/ci", "auth/pipelines"))
		must(sys.DisableAuth("pipelines"))
	})
	operation("configure the jwt method and write a role", func() {
		must(sys.EnableAuthWithOptions("jobs", &AuthOptions{Type: "jwt"}))
		got(logical.Write("auth/jobs/config", values{"jwt_validation_pubkeys": []string{os.Getenv("JWT_KEY")}}))
		got(logical.Write("auth/jobs/role/build", values{
			"role_type": "jwt", "user_claim": "sub", "bound_audiences": "ci", "token_policies": "job",
		}))
		expect(got(logical.List("auth/jobs/role")).Data["keys"], []any{"build"})
	})
	operation("log in with a JWT", func() {
		anonymous := withToken("")
		login := got(anonymous.Logical().Write("auth/jobs/login", values{"role": "build", "jwt": os.Getenv("JWT")}))
		expect(got(login.TokenPolicies()), []string{"default", "job"})
		own := withToken(got(login.TokenID()))
		expect(got(own.Auth().Token().LookupSelf()).Data["path"], "auth/jobs/login")
		must(own.Auth().Token().RevokeSelf(""))
	})
	operation("log in with a JWT that the role refuses", func() {
		_, err := withToken("").Logical().Write("auth/jobs/login", values{"role": "build", "jwt": "a.b.c"})
		expectStatus(err, 400)
	})
	operation("create, look up, renew and revoke a token", func() {
		renewable := true
		made := got(token.Create(&TokenRequest{Policies: []string{"job"}, TTL: "1h", Renewable: &renewable}))
		id, accessor := got(made.TokenID()), got(made.TokenAccessor())
		expect(got(got(token.LookupAccessor(accessor)).TokenPolicies()), []string{"default", "job"})
		expect(got(got(token.Renew(id, 1800)).TokenTTL()), 30*time.Minute)
		must(token.RevokeAccessor(accessor))
		_, err := token.Lookup(id)
		expectStatus(err, 403)
	})
	operation("read the capabilities of a token", func() {
		expect(got(sys.CapabilitiesSelf("sys/mounts")), []string{"root"})
	})
	operation("wrap and unwrap a response", func() {
		wrapper := withToken(vault.Token())
		wrapper.SetWrappingLookupFunc(func(string, string) string { return "60s" })
		wrapped := got(wrapper.Auth().Token().Create(&TokenRequest{Policies: []string{"job"}}))
		opened := got(withToken("").Logical().Unwrap(wrapped.WrapInfo.Token))
		expect(got(opened.TokenPolicies()), []string{"default", "job"})
	})
	operation("write, look up and delete an entity with an alias", func() {
		entity := got(logical.Write("identity/entity/name/ada", values{"metadata": values{"team": "a"}})).Data["id"]
		accessor := got(sys.ListAuth())["jobs/"].Accessor
		got(logical.Write("identity/entity-alias", values{
			"name": "ada@example", "canonical_id": entity, "mount_accessor": accessor,
		}))
		found := got(logical.Write("identity/lookup/entity", values{
			"alias_name": "ada@example", "alias_mount_accessor": accessor,
		}))
		expect(found.Data["id"], entity)
		got(logical.Delete("identity/entity/name/ada"))
	})
	operation("configure the cloud engine and write a role", func() {
		must(sys.Mount("azure", &MountInput{Type: "azure"}))
		expect(got(sys.ListMounts())["azure/"].Type, "azure")
		var config values
		must(json.Unmarshal([]byte(os.Getenv("AZURE")), &config))
		got(logical.Write("azure/config", config))
		roles := got(json.Marshal([]values{{"role_name": "Reader", "scope": os.Getenv("AZURE_SCOPE")}}))
		got(logical.Write("azure/roles/reader", values{"azure_roles": string(roles), "ttl": "1h"}))
	})
	operation("issue, look up, renew and revoke cloud credentials", func() {
		lease := got(logical.Read("azure/creds/reader")).LeaseID
		expect(got(sys.Lookup(lease)).Data["id"], lease)
		got(sys.Renew(lease, 60))
		must(sys.Revoke(lease))
	})
	cloudOperations(vault)
	operation("create, list, use and delete a namespace", func() {
		got(logical.Write("sys/namespaces/team-a", nil))
		expect(got(logical.List("sys/namespaces")).Data["keys"], []any{"team-a/"})
		inside := withToken(vault.Token())
		inside.SetNamespace("team-a")
		expect(got(inside.Sys().ListAuth())["token/"].Type, "ns_token")
		got(logical.Delete("sys/namespaces/team-a"))
	})
	operation("enable, list and disable an audit device", func() {
		options := map[string]string{"file_path": os.Getenv("AUDIT_FILE")}
		must(sys.EnableAuditWithOptions("log", &AuditOptions{Type: "file", Options: options}))
		expect(got(sys.ListAudit())["log/"].Type, "file")
		got(sys.AuditHash("log", "secret"))
		must(sys.DisableAudit("log"))
	})
	kvOperations(vault)
	loginOperations(vault)
	operation("encrypt with the transit engine", func() {
		must(sys.Mount("transit", &MountInput{Type: "transit"}))
	})
}
