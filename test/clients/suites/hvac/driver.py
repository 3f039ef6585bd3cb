"""Runs the operations of hvac, and prints a line of JSON for each.

Environment: VAULT_ADDR, VAULT_TOKEN, CONTROL_URL, JWT, JWT_KEY (a public key, PEM), AZURE (JSON: the configuration
of a mount of type azure).
"""

import json
import os

import hvac
import requests

client = hvac.Client(url=os.environ["VAULT_ADDR"], token=os.environ["VAULT_TOKEN"])
sys, auth, identity = client.sys, client.auth, client.secrets.identity


def operation(name):
    """Runs the decorated function, and reports whether it fails."""

    def run(body):
        requests.put(os.environ["CONTROL_URL"], params={"operation": name})
        try:
            body()
            print(json.dumps({"operation": name}), flush=True)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            print(json.dumps({"operation": name, "error": text}), flush=True)

    return run


def expect(seen, wanted):
    assert seen == wanted, f"expected {wanted!r}, received {seen!r}"


@operation("read the health")
def _():
    expect(sys.read_health_status(method="GET")["sealed"], False)
    expect(sys.read_health_status().status_code, 200)


@operation("read the seal status")
def _():
    expect(sys.is_sealed(), False)
    expect(sys.is_initialized(), True)


@operation("read the leader")
def _():
    assert "is_self" in sys.read_leader_status()


@operation("write, read, list and delete a policy")
def _():
    text = 'path "auth/jwt/role/*" { capabilities = ["read"] }'
    sys.create_or_update_policy("readers", text)
    expect(sys.read_policy("readers")["data"]["rules"], text)
    assert "readers" in sys.list_policies()["data"]["policies"]
    sys.delete_policy("readers")
    assert "readers" not in sys.list_policies()["data"]["policies"]


@operation("write, read, list and delete an ACL policy")
def _():
    sys.create_or_update_acl_policy("job", 'path "auth/token/lookup-self" { capabilities = ["read"] }')
    assert "lookup-self" in sys.read_acl_policy("job")["data"]["policy"]
    assert "job" in sys.list_acl_policies()["data"]["keys"]


@operation("enable, list, tune and move an auth method")
def _():
    sys.enable_auth_method("jwt", path="ci", description="pipelines")
    expect(sys.list_auth_methods()["data"]["ci/"]["type"], "jwt")
    sys.tune_auth_method("ci", default_lease_ttl="10m")
    expect(sys.read_auth_method_tuning("ci")["data"]["default_lease_ttl"], 600)
    move = sys.move_backend("auth/ci", "auth/pipelines")["data"]["migration_id"]
    # a move goes on after its response
    status = f"sys/remount/status/{move}"
    while client.read(status)["data"]["migration_info"]["status"] == "in-progress":
        pass
    assert "pipelines/" in sys.list_auth_methods()["data"]
    sys.disable_auth_method("pipelines")


@operation("configure the jwt method and write a role")
def _():
    sys.enable_auth_method("jwt", path="jobs")
    auth.jwt.configure(jwt_validation_pubkeys=[os.environ["JWT_KEY"]], path="jobs")
    expect(len(auth.jwt.read_config(path="jobs")["data"]["jwt_validation_pubkeys"]), 1)
    auth.jwt.create_role(
        name="build",
        role_type="jwt",
        user_claim="sub",
        bound_audiences=["ci"],
        allowed_redirect_uris=[],
        token_policies=["job"],
        token_ttl="10m",
        path="jobs",
    )
    expect(auth.jwt.read_role("build", path="jobs")["data"]["token_policies"], ["job"])
    expect(auth.jwt.list_roles(path="jobs")["data"]["keys"], ["build"])


@operation("log in with a JWT")
def _():
    login = auth.jwt.jwt_login(role="build", jwt=os.environ["JWT"], path="jobs", use_token=False)
    expect(login["auth"]["token_policies"], ["default", "job"])
    own = hvac.Client(url=os.environ["VAULT_ADDR"], token=login["auth"]["client_token"])
    assert own.is_authenticated()
    own.logout(revoke_token=True)


@operation("log in with a JWT that the role refuses")
def _():
    try:
        auth.jwt.jwt_login(role="build", jwt="a.b.c", path="jobs", use_token=False)
        raise AssertionError("the login was accepted")
    except hvac.exceptions.InvalidRequest:
        pass


@operation("create, look up, renew and revoke a token")
def _():
    made = auth.token.create(policies=["job"], ttl="1h", renewable=True, meta={"team": "a"})["auth"]
    token, accessor = made["client_token"], made["accessor"]
    expect(auth.token.lookup(token)["data"]["meta"], {"team": "a"})
    expect(auth.token.lookup_accessor(accessor)["data"]["policies"], ["default", "job"])
    expect(auth.token.renew(token, increment="30m")["auth"]["lease_duration"], 1800)
    assert accessor in auth.token.list_accessors()["data"]["keys"]
    auth.token.revoke_accessor(accessor)
    try:
        auth.token.lookup(token)
        raise AssertionError("the token lives")
    except hvac.exceptions.Forbidden:
        pass


@operation("write, read and use a token role")
def _():
    auth.token.create_or_update_role("deployers", allowed_policies="job", orphan=True)
    expect(auth.token.read_role("deployers")["data"]["orphan"], True)
    expect(auth.token.list_roles()["data"]["keys"], ["deployers"])
    made = client.write("auth/token/create/deployers", policies="job")["auth"]
    expect(made["orphan"], True)
    auth.token.delete_role("deployers")


@operation("read the capabilities of a token")
def _():
    expect(sys.get_capabilities(["sys/mounts"])["data"]["sys/mounts"], ["root"])


@operation("wrap and unwrap a response")
def _():
    wrapped = auth.token.create(policies=["job"], wrap_ttl="60s")
    token = wrapped["wrap_info"]["token"]
    assert sys.unwrap(token)["auth"]["client_token"]
    expect(sys.wrap(payload={"a": "b"}, ttl=60)["wrap_info"]["ttl"], 60)


@operation("write, look up and delete an entity with an alias")
def _():
    entity = identity.create_or_update_entity_by_name("ada", metadata={"team": "a"})["data"]["id"]
    accessor = sys.list_auth_methods()["data"]["jobs/"]["accessor"]
    alias = identity.create_or_update_entity_alias("ada@example", entity, accessor)["data"]["id"]
    found = identity.lookup_entity(alias_name="ada@example", alias_mount_accessor=accessor)["data"]
    expect(found["id"], entity)
    assert alias in identity.list_entity_aliases()["data"]["keys"]
    identity.delete_entity_alias(alias)
    identity.delete_entity_by_name("ada")


@operation("write, read and delete a group")
def _():
    group = identity.create_or_update_group_by_name("builders", policies=["job"])["data"]["id"]
    expect(identity.read_group(group)["data"]["policies"], ["job"])
    expect(identity.list_groups_by_name()["data"]["keys"], ["builders"])
    identity.delete_group(group)


@operation("generate and verify an identity token")
def _():
    identity.create_named_key("k", allowed_client_ids=["*"])
    identity.create_or_update_role("r", key="k", ttl="5m")
    expect(identity.list_roles()["data"]["keys"], ["r"])
    assert identity.read_active_public_keys()["keys"] is not None


@operation("configure the cloud engine and write a role")
def _():
    sys.enable_secrets_engine("azure", path="azure")
    client.secrets.azure.configure(**json.loads(os.environ["AZURE"]))
    client.secrets.azure.create_or_update_role(
        name="reader",
        azure_roles=[{"role_name": "Reader", "scope": os.environ["AZURE_SCOPE"]}],
        ttl="1h",
    )
    expect(client.secrets.azure.list_roles()["keys"], ["reader"])


@operation("issue, look up, renew and revoke cloud credentials")
def _():
    lease = client.read("azure/creds/reader")
    assert lease["data"]["client_secret"]
    expect(sys.read_lease(lease["lease_id"])["data"]["id"], lease["lease_id"])
    assert sys.renew_lease(lease["lease_id"], increment=60)["lease_duration"]
    sys.revoke_lease(lease["lease_id"])


@operation("create, read, list and delete a rate limit")
def _():
    sys.create_or_update_quota(name="all", rate=10000.0)
    expect(sys.read_quota("all")["data"]["rate"], 10000)
    expect(sys.list_quotas()["data"]["keys"], ["all"])
    sys.delete_quota("all")


@operation("create, list, use and delete a namespace")
def _():
    sys.create_namespace("team-a")
    expect(sys.list_namespaces()["data"]["keys"], ["team-a/"])
    inside = hvac.Client(url=os.environ["VAULT_ADDR"], token=client.token, namespace="team-a")
    assert "token/" in inside.sys.list_auth_methods()["data"]
    sys.delete_namespace("team-a")


@operation("enable, list and disable an audit device")
def _():
    sys.enable_audit_device("file", path="log", options={"file_path": os.environ["AUDIT_FILE"]})
    assert "log/" in sys.list_enabled_audit_devices()["data"]
    assert sys.calculate_hash("log", "secret")["data"]["hash"].startswith("hmac-sha256:")
    sys.disable_audit_device("log")


@operation("write, read, list and delete a secret (kv, version 2)")
def _():
    sys.enable_secrets_engine("kv", path="kv2", options={"version": "2"})
    kv = client.secrets.kv.v2
    kv.create_or_update_secret("app", secret={"password": "p"}, mount_point="kv2")
    expect(kv.read_secret_version("app", mount_point="kv2", raise_on_deleted_version=True)["data"]["data"], {"password": "p"})
    expect(kv.list_secrets("", mount_point="kv2")["data"]["keys"], ["app"])
    kv.delete_metadata_and_all_versions("app", mount_point="kv2")


@operation("write, read, list and delete a secret (kv, version 1)")
def _():
    sys.enable_secrets_engine("kv", path="kv1", options={"version": "1"})
    kv = client.secrets.kv.v1
    kv.create_or_update_secret("app", secret={"password": "p"}, mount_point="kv1")
    expect(kv.read_secret("app", mount_point="kv1")["data"], {"password": "p"})
    kv.delete_secret("app", mount_point="kv1")


@operation("log in with AppRole")
def _():
    sys.enable_auth_method("approle")
    auth.approle.create_or_update_approle("job", token_policies=["job"])
    role_id = auth.approle.read_role_id("job")["data"]["role_id"]
    secret_id = auth.approle.generate_secret_id("job")["data"]["secret_id"]
    assert auth.approle.login(role_id, secret_id, use_token=False)["auth"]["client_token"]


@operation("log in with a username and password")
def _():
    sys.enable_auth_method("userpass")
    auth.userpass.create_or_update_user("ada", password="correct horse", policies=["job"])
    assert auth.userpass.login("ada", "correct horse", use_token=False)["auth"]["client_token"]


@operation("encrypt with the transit engine")
def _():
    sys.enable_secrets_engine("transit")
    client.secrets.transit.create_key("k")
