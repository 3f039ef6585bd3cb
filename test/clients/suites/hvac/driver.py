"""Runs the operations of hvac, and prints a line of JSON for each.

Environment: VAULT_ADDR, VAULT_TOKEN, CONTROL_URL, JWT, JWT_KEY (a public key, PEM), AZURE (JSON: the configuration
of a mount of type azure), AZURE_SCOPE, APPLICATION (JSON: an application of the directory with a password), ORDERS (the
client id of an application with app roles), CLUSTER (JSON: a cluster of Kubernetes, and a token of dev/web), AUDIT_FILE.
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


@operation("configure the kubernetes method and write, read, list and delete a role")
def _():
    cluster = json.loads(os.environ["CLUSTER"])
    sys.enable_auth_method("kubernetes", path="pods")
    auth.kubernetes.configure(
        kubernetes_host=cluster["host"],
        kubernetes_ca_cert=cluster["ca_cert"],
        token_reviewer_jwt=cluster["reviewer"],
        disable_local_ca_jwt=True,
        mount_point="pods",
    )
    expect(auth.kubernetes.read_config(mount_point="pods")["kubernetes_host"], cluster["host"])
    for name in ["web", "gone"]:
        auth.kubernetes.create_role(
            name,
            bound_service_account_names=["web"],
            bound_service_account_namespaces=["dev"],
            policies=["job"],
            ttl="10m",
            audience=cluster["audience"],
            mount_point="pods",
        )
    auth.kubernetes.delete_role("gone", mount_point="pods")
    expect(auth.kubernetes.list_roles(mount_point="pods")["keys"], ["web"])
    role = auth.kubernetes.read_role("web", mount_point="pods")
    expect((role["bound_service_account_names"], role["audience"]), (["web"], cluster["audience"]))


@operation("log in with the token of a service account (kubernetes)")
def _():
    jwt = json.loads(os.environ["CLUSTER"])["jwt"]
    login = auth.kubernetes.login(role="web", jwt=jwt, use_token=False, mount_point="pods")
    expect(login["auth"]["token_policies"], ["default", "job"])
    own = hvac.Client(url=os.environ["VAULT_ADDR"], token=login["auth"]["client_token"])
    assert own.auth.token.renew_self()["auth"]["renewable"]
    try:
        auth.kubernetes.login(role="web", jwt="a.b.c", use_token=False, mount_point="pods")
        raise AssertionError("the login was accepted")
    except hvac.exceptions.Forbidden:
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


application = json.loads(os.environ["APPLICATION"])
scope = "https://graph.microsoft.com/.default"


@operation("read and delete the configuration and roles of the cloud engine")
def _():
    azure = client.secrets.azure
    expect(azure.read_config()["client_id"], json.loads(os.environ["AZURE"])["client_id"])
    role = client.read("azure/roles/reader")["data"]
    expect((role["azure_roles"][0]["role_name"], role["ttl"]), ("Reader", 3600))
    made = azure.generate_credentials("reader")
    assert made["client_secret"]
    azure.create_or_update_role(name="gone", azure_roles=role["azure_roles"])
    client.delete("azure/roles/gone")
    expect(azure.list_roles()["keys"], ["reader"])
    sys.enable_secrets_engine("azure", path="azure-gone")
    azure.configure(**json.loads(os.environ["AZURE"]), mount_point="azure-gone")
    azure.delete_config(mount_point="azure-gone")
    expect(azure.read_config(mount_point="azure-gone")["tenant_id"], "")


@operation("read how the cloud engine signs in, check it, and make a root certificate")
def _():
    expect(client.read("azure/config/identity")["data"]["auth_type"], "root_creds")
    expect([check for check in client.read("azure/config/check")["data"]["checks"] if not check["ok"]], [])
    expect(client.read("azure/config/certificate"), None)
    made = client.write_data("azure/config/certificate")["data"]
    expect(client.read("azure/config/certificate")["data"]["thumbprint"], made["thumbprint"])


@operation("issue certificates and assertions of the cloud engine")
def _():
    roles = json.dumps([{"role_name": "Reader", "scope": os.environ["AZURE_SCOPE"]}])
    client.write_data("azure/roles/certificate", data={"azure_roles": roles, "credential_type": "certificate"})
    made = client.read("azure/creds/certificate")
    assert made["data"]["private_key"]
    sys.revoke_lease(made["lease_id"])
    federated = {"credential_type": "federated", "application_object_id": application["id"]}
    client.write_data("azure/roles/federated", data=federated)
    assertion = client.read("azure/creds/federated")
    expect((assertion["lease_id"], assertion["data"]["client_id"]), ("", application["appId"]))


@operation("get access tokens of the cloud engine")
def _():
    token = client.write_data("azure/token/federated", data={"scope": scope})
    expect((token["data"]["token_type"], token["lease_id"]), ("Bearer", ""))
    try:
        client.write_data("azure/token/reader", data={"scope": scope})
        raise AssertionError("a role without a trust gave a token")
    except hvac.exceptions.InvalidRequest:
        pass


@operation("write, rotate, read and delete static roles of the cloud engine")
def _():
    role = {"application_object_id": application["id"], "ttl": 31536000, "metadata": {"team": "billing"}}
    client.write_data("azure/static-roles/billing", data=role)
    read = client.read("azure/static-roles/billing")["data"]
    expect({name: read[name] for name in role}, role)
    expect(client.list("azure/static-roles")["data"]["keys"], ["billing"])
    first = client.read("azure/static-creds/billing")["data"]
    expect(first["client_id"], application["appId"])
    client.write_data("azure/rotate-role/billing")
    expect(client.read("azure/static-creds/billing")["data"]["previous_secret_id"], first["secret_id"])
    token = client.write_data("azure/static-creds/billing/token", data={"scope": scope})
    assert token["data"]["access_token"]
    client.delete("azure/static-roles/billing")
    expect(client.read("azure/static-roles/billing"), None)
    imported = {"secret_id": application["keyId"], "client_secret": application["secretText"], **role}
    client.write_data("azure/static-roles/billing/import", data={**imported, "skip_import_rotation": True})
    expect(client.read("azure/static-creds/billing")["data"]["client_secret"], application["secretText"])


@operation("rotate the root of the cloud engine")
def _():
    expect(client.write_data("azure/rotate-root").status_code, 204)


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


kv1, kv2 = client.secrets.kv.v1, client.secrets.kv.v2


def password(version=None):
    """The password of the secret `app` of version 2."""
    read = kv2.read_secret_version("app", version=version, mount_point="kv2", raise_on_deleted_version=True)
    return read["data"]["data"]["password"]


def expect_refused(error, call):
    try:
        call()
    except error:
        return
    raise AssertionError("the call was accepted")


@operation("write, read, list and delete a secret (kv, version 1)")
def _():
    sys.enable_secrets_engine("kv", path="kv1", options={"version": "1"})
    kv1.create_or_update_secret("team/app", secret={"password": "p"}, mount_point="kv1")
    kv1.create_or_update_secret("team/app", secret={"password": "q"}, method="PUT", mount_point="kv1")
    expect(kv1.read_secret("team/app", mount_point="kv1")["data"], {"password": "q"})
    expect(kv1.list_secrets("team", mount_point="kv1")["data"]["keys"], ["app"])
    kv1.delete_secret("team/app", mount_point="kv1")
    expect_refused(hvac.exceptions.InvalidPath, lambda: kv1.read_secret("team/app", mount_point="kv1"))


@operation("upgrade a mount from version 1 to 2 (kv)")
def _():
    sys.enable_secrets_engine("kv", path="upgraded")
    kv1.create_or_update_secret("app", secret={"password": "p"}, mount_point="upgraded")
    sys.tune_mount_configuration("upgraded", options={"version": "2"})
    read = kv2.read_secret_version("app", mount_point="upgraded", raise_on_deleted_version=True)
    expect((read["data"]["data"], read["data"]["metadata"]["version"]), ({"password": "p"}, 1))


@operation("configure a mount (kv, version 2)")
def _():
    sys.enable_secrets_engine("kv", path="kv2", options={"version": "2"})
    kv2.configure(max_versions=5, cas_required=False, delete_version_after="1h", mount_point="kv2")
    config = kv2.read_configuration("kv2")["data"]
    expect((config["max_versions"], config["delete_version_after"]), (5, "1h0m0s"))
    kv2.configure(max_versions=10, mount_point="kv2")


@operation("write and read versions of a secret (kv, version 2)")
def _():
    for number in (1, 2):
        made = kv2.create_or_update_secret("app", {"password": f"p{number}"}, mount_point="kv2")["data"]
        expect(made["version"], number)
    expect((password(), password(version=1)), ("p2", "p1"))


@operation("write a secret with check-and-set (kv, version 2)")
def _():
    kv2.create_or_update_secret("app", {"password": "p3"}, cas=2, mount_point="kv2")
    stale = lambda: kv2.create_or_update_secret("app", {"password": "no"}, cas=2, mount_point="kv2")
    expect_refused(hvac.exceptions.InvalidRequest, stale)
    expect(password(), "p3")


@operation("patch a secret (kv, version 2)")
def _():
    kv2.patch("app", {"user": "ada"}, mount_point="kv2")
    read = kv2.read_secret_version("app", mount_point="kv2", raise_on_deleted_version=True)["data"]
    expect((read["data"], read["metadata"]["version"]), ({"password": "p3", "user": "ada"}, 4))
    missing = lambda: kv2.patch("nobody", {"user": "ada"}, mount_point="kv2")
    expect_refused(hvac.exceptions.InvalidPath, missing)


@operation("delete, undelete and destroy versions of a secret (kv, version 2)")
def _():
    kv2.delete_latest_version_of_secret("app", mount_point="kv2")
    expect_refused(hvac.exceptions.InvalidPath, password)
    deleted = kv2.read_secret_version("app", mount_point="kv2", raise_on_deleted_version=False)["data"]
    assert deleted["data"] is None and deleted["metadata"]["deletion_time"]
    kv2.undelete_secret_versions("app", [4], mount_point="kv2")
    expect(password(), "p3")
    kv2.delete_secret_versions("app", [1, 2], mount_point="kv2")
    kv2.destroy_secret_versions("app", [1], mount_point="kv2")
    kv2.undelete_secret_versions("app", [1, 2], mount_point="kv2")
    expect_refused(hvac.exceptions.InvalidPath, lambda: password(version=1))
    expect(password(version=2), "p2")


@operation("write and read the metadata of a secret (kv, version 2)")
def _():
    kv2.update_metadata("app", max_versions=3, custom_metadata={"owner": "a"}, mount_point="kv2")
    metadata = kv2.read_secret_metadata("app", mount_point="kv2")["data"]
    expect((metadata["max_versions"], metadata["custom_metadata"]), (3, {"owner": "a"}))
    expect((metadata["current_version"], metadata["versions"]["1"]["destroyed"]), (4, True))


@operation("list secrets and delete one with all its versions (kv, version 2)")
def _():
    kv2.create_or_update_secret("team/app", {"password": "p"}, mount_point="kv2")
    expect(kv2.list_secrets("", mount_point="kv2")["data"]["keys"], ["app", "team/"])
    kv2.delete_metadata_and_all_versions("app", mount_point="kv2")
    expect(kv2.list_secrets("", mount_point="kv2")["data"]["keys"], ["team/"])
    expect_refused(hvac.exceptions.InvalidPath, lambda: kv2.list_secrets("none", mount_point="kv2"))


@operation("write, read, list and delete an AppRole")
def _():
    sys.enable_auth_method("approle")
    auth.approle.create_or_update_approle("job", token_policies=["job"], token_ttl="10m", secret_id_ttl="1h")
    role = auth.approle.read_role("job")["data"]
    expect((role["token_policies"], role["token_ttl"], role["secret_id_ttl"]), (["job"], 600, 3600))
    auth.approle.create_or_update_approle("gone")
    auth.approle.delete_role("gone")
    expect(auth.approle.list_roles()["data"]["keys"], ["job"])
    auth.approle.update_role_id("job", "job-1")
    expect(auth.approle.read_role_id("job")["data"]["role_id"], "job-1")


@operation("generate, look up, list and destroy secret ids of an AppRole")
def _():
    made = auth.approle.generate_secret_id("job", metadata={"build": "7"})["data"]
    secret_id, accessor = made["secret_id"], made["secret_id_accessor"]
    expect(auth.approle.read_secret_id("job", secret_id)["data"]["metadata"], {"build": "7"})
    expect(auth.approle.read_secret_id_accessor("job", accessor)["data"]["secret_id_accessor"], accessor)
    expect(auth.approle.list_secret_id_accessors("job")["data"]["keys"], [accessor])
    auth.approle.destroy_secret_id("job", secret_id)
    expect(auth.approle.read_secret_id("job", secret_id).status_code, 204)
    custom = auth.approle.create_custom_secret_id("job", "chosen")["data"]
    auth.approle.destroy_secret_id_accessor("job", custom["secret_id_accessor"])
    expect_refused(hvac.exceptions.InvalidPath, lambda: auth.approle.list_secret_id_accessors("job"))


@operation("log in with AppRole")
def _():
    secret_id = auth.approle.generate_secret_id("job")["data"]["secret_id"]
    own = hvac.Client(url=os.environ["VAULT_ADDR"])
    login = own.auth.approle.login("job-1", secret_id)["auth"]
    expect((login["policies"], login["metadata"]["role_name"]), (["default", "job"], "job"))
    assert own.is_authenticated()
    expect_refused(hvac.exceptions.InvalidRequest, lambda: auth.approle.login("job-1", "wrong", use_token=False))


@operation("log in with AppRole and a wrapped secret id")
def _():
    wrapped = auth.approle.generate_secret_id("job", wrap_ttl="60s")["wrap_info"]
    own = hvac.Client(url=os.environ["VAULT_ADDR"], token=wrapped["token"])
    secret_id = own.sys.unwrap()["data"]["secret_id"]
    assert own.auth.approle.login("job-1", secret_id)["auth"]["client_token"]


@operation("write, read, list and delete a user (userpass)")
def _():
    sys.enable_auth_method("userpass")
    auth.userpass.create_or_update_user("ada", password="correct horse", policies=["job"])
    auth.userpass.create_or_update_user("gone", password="gone", token_ttl="10m")
    expect(auth.userpass.read_user("gone")["data"]["token_ttl"], 600)
    auth.userpass.delete_user("gone")
    expect(auth.userpass.list_user()["data"]["keys"], ["ada"])
    expect(auth.userpass.read_user("ada")["data"]["token_policies"], ["job"])


@operation("log in with a username and password")
def _():
    own = hvac.Client(url=os.environ["VAULT_ADDR"])
    login = own.auth.userpass.login("ada", "correct horse")["auth"]
    expect((login["policies"], login["metadata"]["username"]), (["default", "job"], "ada"))
    assert own.is_authenticated()


@operation("change a password (userpass)")
def _():
    auth.userpass.update_password_on_user("ada", "battery staple")
    old = lambda: auth.userpass.login("ada", "correct horse", use_token=False)
    expect_refused(hvac.exceptions.InvalidRequest, old)
    assert auth.userpass.login("ada", "battery staple", use_token=False)["auth"]["client_token"]


@operation("encrypt with the transit engine")
def _():
    sys.enable_secrets_engine("transit")
    client.secrets.transit.create_key("k")
