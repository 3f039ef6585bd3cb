"""Runs the commands of OpenBao's command line, and prints a line of JSON for each operation.

usage: driver.py BAO. The environment is that of ../hvac/driver.py.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

program = sys.argv[1]
# where a login keeps its token
home = tempfile.TemporaryDirectory()
environment = {
    "PATH": os.environ["PATH"],
    "HOME": home.name,
    "BAO_ADDR": os.environ["VAULT_ADDR"],
    "BAO_TOKEN": os.environ["VAULT_TOKEN"],
}


class Failed(Exception):
    pass


def bao(*args, given="", **settings):
    """What the command prints. A setting is a variable of its environment, or None to leave one out."""
    chosen = {name: value for name, value in {**environment, **settings}.items() if value is not None}
    ended = subprocess.run([program, *args], env=chosen, input=given, capture_output=True, text=True, timeout=60)
    if ended.returncode != 0:
        raise Failed(f"{' '.join(args[:2])} ended with {ended.returncode}: {ended.stderr}")
    return ended.stdout.strip()


def data(*args, **settings):
    """What the command prints as JSON."""
    return json.loads(bao(*args, **{"BAO_FORMAT": "json", **settings}))


def operation(name):
    """Runs the decorated function, and reports whether it fails."""

    def run(body):
        url = f"{os.environ['CONTROL_URL']}?{urllib.parse.urlencode({'operation': name})}"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT")).close()
        line = {"operation": name}
        try:
            body()
        except Exception as error:
            line["error"] = f"{type(error).__name__}: {error}"
        print(json.dumps(line), flush=True)

    return run


def expect(seen, wanted):
    assert seen == wanted, f"expected {wanted!r}, received {seen!r}"


def expect_failure(*args, **settings):
    try:
        bao(*args, **settings)
    except Failed:
        return
    raise AssertionError("the command succeeded")


def login(*args):
    """Logs in as a person does, and returns what the token may do."""
    bao("login", *args, BAO_TOKEN=None)
    return data("token", "lookup", BAO_TOKEN=None)["data"]


policy = 'path "auth/token/lookup-self" { capabilities = ["read"] }'


@operation("read the status (bao status)")
def _():
    status = data("status")
    expect((status["initialized"], status["sealed"]), (True, False))


@operation("write, read, list and delete a policy (bao policy)")
def _():
    bao("policy", "write", "job", "-", given=policy)
    expect(bao("policy", "read", "job"), policy)
    bao("policy", "write", "gone", "-", given=policy)
    bao("policy", "delete", "gone")
    expect(data("policy", "list"), ["default", "job", "root"])


@operation("enable, list, tune, move and disable an auth method (bao auth)")
def _():
    bao("auth", "enable", "-path=ci", "-description=pipelines", "jwt")
    expect(data("auth", "list")["ci/"]["description"], "pipelines")
    bao("auth", "tune", "-default-lease-ttl=10m", "ci")
    expect(data("read", "sys/auth/ci/tune")["data"]["default_lease_ttl"], 600)
    bao("auth", "move", "auth/ci/", "auth/pipelines/")
    bao("auth", "disable", "pipelines")


@operation("configure the jwt method, and log in with a JWT (bao write)")
def _():
    bao("auth", "enable", "-path=jobs", "jwt")
    bao("write", "auth/jobs/config", f"jwt_validation_pubkeys={os.environ['JWT_KEY']}")
    bao("write", "auth/jobs/role/build", "role_type=jwt", "user_claim=sub", "bound_audiences=ci", "token_policies=job")
    expect(data("list", "auth/jobs/role"), ["build"])
    made = data("write", "auth/jobs/login", "role=build", f"jwt={os.environ['JWT']}")["auth"]
    expect(made["token_policies"], ["default", "job"])
    expect_failure("write", "auth/jobs/login", "role=build", "jwt=a.b.c")


@operation("create, look up, renew and revoke a token (bao token)")
def _():
    made = data("token", "create", "-policy=job", "-ttl=1h", "-metadata=team=a")["auth"]
    expect(data("token", "lookup", "-accessor", made["accessor"])["data"]["meta"], {"team": "a"})
    expect(data("token", "renew", "-increment=30m", made["client_token"])["auth"]["lease_duration"], 1800)
    expect(bao("token", "capabilities", made["client_token"], "auth/token/lookup-self"), "read")
    bao("token", "revoke", "-accessor", made["accessor"])
    expect_failure("token", "lookup", made["client_token"])


@operation("wrap and unwrap a response (bao unwrap)")
def _():
    wrapped = bao("token", "create", "-policy=job", "-wrap-ttl=60s", "-field=wrapping_token")
    expect(data("unwrap", wrapped)["auth"]["token_policies"], ["default", "job"])
    expect_failure("unwrap", wrapped)


@operation("issue, look up, renew and revoke cloud credentials (bao lease)")
def _():
    bao("secrets", "enable", "azure")
    bao("write", "azure/config", "-", given=os.environ["AZURE"])
    roles = json.dumps([{"role_name": "Reader", "scope": os.environ["AZURE_SCOPE"]}])
    bao("write", "azure/roles/reader", f"azure_roles={roles}", "ttl=1h")
    lease = data("read", "azure/creds/reader")["lease_id"]
    expect(data("lease", "lookup", lease)["data"]["id"], lease)
    bao("lease", "renew", "-increment=60", lease)
    bao("lease", "revoke", lease)


application = json.loads(os.environ["APPLICATION"])
scope = "https://graph.microsoft.com/.default"


def cloud_operations(kind):
    """Each path of the cloud engine, on a mount of this type."""
    at = f"paths/{kind}"
    reader = json.dumps([{"role_name": "Reader", "scope": os.environ["AZURE_SCOPE"]}])
    dynamic = f"{kind}_roles={reader}"
    existing = f"application_object_id={application['id']}"

    @operation(f"configure a mount and check it (bao write, type {kind})")
    def _():
        bao("secrets", "enable", f"-path={at}", kind)
        expect(data("read", f"{at}/config")["data"]["tenant_id"], "")
        # the machine's own identity
        expect(data("read", f"{at}/config/identity")["data"]["auth_type"], "msi")
        bao("write", f"{at}/config", "-", given=os.environ["AZURE"])
        config = data("read", f"{at}/config")["data"]
        expect(config["client_id"], json.loads(os.environ["AZURE"])["client_id"])
        assert "client_secret" not in config
        identity = data("read", f"{at}/config/identity")["data"]
        expect(identity["auth_type"], "root_creds")
        assert identity["issuer"].endswith("/v1/identity/oidc/plugins"), identity
        expect([check for check in data("read", f"{at}/config/check")["data"]["checks"] if not check["ok"]], [])
        bao("write", f"{at}/config", "root_password_ttl=2400h")
        expect(data("read", f"{at}/config")["data"]["root_password_ttl"], 2400 * 3600)

    @operation(f"make a root certificate (bao write, type {kind})")
    def _():
        expect_failure("read", f"{at}/config/certificate")
        made = data("write", "-f", f"{at}/config/certificate")["data"]
        assert made["certificate"].startswith("-----BEGIN CERTIFICATE-----"), made
        expect(bao("read", "-field=thumbprint", f"{at}/config/certificate"), made["thumbprint"])

    @operation(f"write, read, list and delete roles of each kind (bao write, type {kind})")
    def _():
        orders = json.dumps([{"app_id": os.environ["ORDERS"], "role_name": "Orders.Read"}])
        groups = json.dumps([{"group_name": "foo"}])
        bao("write", f"{at}/roles/dynamic", dynamic, f"{kind}_groups={groups}", "ttl=1h", "max_ttl=24h", "tags=a,b")
        bao("write", f"{at}/roles/app-roles", f"{kind}_app_roles={orders}")
        bao("write", f"{at}/roles/certificate", dynamic, "credential_type=certificate")
        bao("write", f"{at}/roles/existing", existing, "ttl=1h")
        bao("write", f"{at}/roles/persisted", dynamic, "persist_app=true")
        bao("write", f"{at}/roles/federated", existing, "credential_type=federated", f"allowed_scopes={scope}")
        bao("write", f"{at}/roles/standalone", f"federated_client_id={application['appId']}", "credential_type=federated")
        role = data("read", f"{at}/roles/dynamic")["data"]
        expect((role[f"{kind}_roles"][0]["role_name"], role[f"{kind}_groups"][0]["group_name"]), ("Reader", "foo"))
        expect((role["ttl"], role["max_ttl"], role["tags"]), (3600, 86400, ["a", "b"]))
        expect(data("read", f"{at}/roles/app-roles")["data"][f"{kind}_app_roles"][0]["role_name"], "Orders.Read")
        expect(data("read", f"{at}/roles/federated")["data"]["allowed_scopes"], [scope])
        names = ["app-roles", "certificate", "dynamic", "existing", "federated", "persisted", "standalone"]
        expect(data("list", f"{at}/roles"), names)
        for name in ["persisted", "standalone"]:
            bao("delete", f"{at}/roles/{name}")
            expect_failure("read", f"{at}/roles/{name}")
        expect_failure("write", f"{at}/roles/wrong", "ttl=1h")

    @operation(f"read credentials of each kind (bao read, type {kind})")
    def _():
        client_ids = []
        for name, field in [
            ("dynamic", "client_secret"),
            ("app-roles", "client_secret"),
            ("certificate", "private_key"),
            ("existing", "client_secret"),
        ]:
            made = data("read", f"{at}/creds/{name}")
            assert made["lease_id"] and made["data"][field], made["data"].keys()
            client_ids.append(made["data"]["client_id"])
        expect(client_ids[3], application["appId"])
        assertion = data("read", f"{at}/creds/federated")
        expect((assertion["lease_id"], assertion["data"]["client_id"]), ("", application["appId"]))
        assert len(bao("read", "-field=client_assertion", f"{at}/creds/federated").split(".")) == 3
        expect(data("read", f"{at}/whois/{client_ids[0]}")["data"]["role"], "dynamic")
        bao("lease", "revoke", "-prefix", f"{at}/creds/")

    @operation(f"get access tokens of a federated role (bao write, bao read, type {kind})")
    def _():
        expect(bao("write", "-field=token_type", f"{at}/token/federated", f"scope={scope}"), "Bearer")
        kept = data("read", f"{at}/token/federated", f"scope={scope}")
        assert kept["data"]["access_token"] and kept["lease_id"] == "", kept
        expect_failure("write", f"{at}/token/federated", "scope=https://vault.azure.net/.default")
        expect_failure("write", f"{at}/token/federated")
        expect_failure("write", f"{at}/token/dynamic", f"scope={scope}")

    @operation(f"write, rotate, read and delete a static role (bao write, type {kind})")
    def _():
        role = f"{at}/static-roles/billing"
        bao("write", role, existing, "rotation_period=720h", "rotation_grace_period=1h", "metadata=team=billing")
        expect(data("read", role)["data"]["rotation_period"], 720 * 3600)
        expect(data("list", f"{at}/static-roles"), ["billing"])
        first = data("read", f"{at}/static-creds/billing")["data"]
        expect((first["client_id"], first["metadata"]), (application["appId"], {"team": "billing"}))
        expect(bao("write", "-field=token_type", f"{at}/static-creds/billing/token", f"scope={scope}"), "Bearer")
        bao("write", "-f", f"{at}/rotate-role/billing")
        second = data("read", f"{at}/static-creds/billing")["data"]
        expect(second["previous_secret_id"], first["secret_id"])
        assert second["client_secret"] != first["client_secret"]
        bao("delete", role, "revoke=true")
        expect_failure("read", role)
        expect_failure("read", f"{at}/static-creds/billing")
        expect_failure("list", f"{at}/static-roles")

    @operation(f"import a password into a static role (bao write, type {kind})")
    def _():
        imported = [existing, f"secret_id={application['keyId']}", f"client_secret={application['secretText']}"]
        bao("write", f"{at}/static-roles/imported/import", *imported, "skip_import_rotation=true")
        expect(bao("read", "-field=client_secret", f"{at}/static-creds/imported"), application["secretText"])
        bao("delete", f"{at}/static-roles/imported")

    @operation(f"rotate the root, and look for what is left (bao write, type {kind})")
    def _():
        bao("write", "-f", f"{at}/rotate-root")
        expect(data("read", f"{at}/debris")["data"]["objects"], [])
        expect(data("write", f"{at}/reap", "dry_run=true")["data"]["deleted"], 0)

    @operation(f"read the help of each path (bao path-help, type {kind})")
    def _():
        for path in [
            "config", "config/check", "config/identity", "config/certificate", "rotate-root", "roles", "roles/x",
            "creds/x", "token/x", "static-roles", "static-roles/x", "static-roles/x/import", "static-creds/x",
            "static-creds/x/token", "rotate-role/x", "whois/x", "debris", "reap",
        ]:
            assert bao("path-help", f"{at}/{path}"), path
        assert "static-creds" in bao("path-help", at)

    @operation(f"delete the configuration and disable the mount (bao delete, type {kind})")
    def _():
        for name in data("list", f"{at}/roles"):
            bao("delete", f"{at}/roles/{name}")
        bao("delete", f"{at}/config")
        expect(data("read", f"{at}/config")["data"]["tenant_id"], "")
        bao("secrets", "disable", at)


for kind in ["azure", "cloud"]:
    cloud_operations(kind)


@operation("create, list, use and delete a namespace (bao namespace)")
def _():
    bao("namespace", "create", "team-a")
    expect(data("namespace", "list"), ["team-a/"])
    bao("secrets", "enable", "-namespace=team-a", "-path=kv", "kv-v2")
    bao("kv", "put", "-namespace=team-a", "-mount=kv", "app", "password=p")
    expect(bao("kv", "get", "-mount=team-a/kv", "-field=password", "app"), "p")
    expect(bao("kv", "get", "-field=password", "team-a/kv/app"), "p")
    bao("namespace", "delete", "team-a")


@operation("enable, list and disable an audit device (bao audit)")
def _():
    bao("audit", "enable", "-path=log", "file", f"file_path={os.environ['AUDIT_FILE']}")
    expect(data("audit", "list")["log/"]["type"], "file")
    bao("audit", "disable", "log")


@operation("write, read, list and delete a secret (bao kv, version 1)")
def _():
    bao("secrets", "enable", "-path=kv1", "-version=1", "kv")
    bao("kv", "put", "kv1/team/app", "password=p")
    expect(bao("kv", "get", "-field=password", "kv1/team/app"), "p")
    expect(bao("kv", "get", "-field=password", "-mount=kv1", "team/app"), "p")
    expect(data("kv", "list", "kv1/team"), ["app"])
    bao("kv", "delete", "kv1/team/app")
    expect_failure("kv", "get", "kv1/team/app")


@operation("upgrade a mount from version 1 to 2 (bao kv enable-versioning)")
def _():
    bao("kv", "put", "kv1/app", "password=p")
    bao("kv", "enable-versioning", "kv1")
    read = data("kv", "get", "-mount=kv1", "app")["data"]
    expect((read["data"], read["metadata"]["version"]), ({"password": "p"}, 1))


@operation("write and read versions of a secret (bao kv, version 2)")
def _():
    # a mount below folders: the command asks where it ends
    bao("secrets", "enable", "-path=team/deep/kv", "-version=2", "kv")
    bao("kv", "put", "team/deep/kv/app", "password=p1")
    bao("kv", "put", "-cas=1", "-mount=team/deep/kv", "app", "password=p2")
    expect_failure("kv", "put", "-cas=1", "-mount=team/deep/kv", "app", "password=no")
    expect(bao("kv", "get", "-field=password", "team/deep/kv/app"), "p2")
    expect(bao("kv", "get", "-field=password", "-version=1", "-mount=team/deep/kv", "app"), "p1")


@operation("patch a secret and roll it back (bao kv, version 2)")
def _():
    secret = lambda: data("kv", "get", "team/deep/kv/app")["data"]["data"]
    bao("kv", "patch", "team/deep/kv/app", "user=ada")
    bao("kv", "patch", "-method=rw", "team/deep/kv/app", "user=bob")
    expect(secret(), {"password": "p2", "user": "bob"})
    bao("kv", "rollback", "-version=1", "team/deep/kv/app")
    expect(secret(), {"password": "p1"})
    expect_failure("kv", "patch", "team/deep/kv/nobody", "user=ada")


@operation("delete, undelete and destroy versions of a secret (bao kv, version 2)")
def _():
    at = ["-mount=team/deep/kv", "app"]
    bao("kv", "delete", *at)
    expect_failure("kv", "get", "-field=password", *at)
    # with -mount, these two drop the folders in front of the mount
    bao("kv", "undelete", "-versions=5", "team/deep/kv/app")
    expect(bao("kv", "get", "-field=password", *at), "p1")
    bao("kv", "delete", "-versions=1,2", *at)
    bao("kv", "destroy", "-versions=1", "team/deep/kv/app")
    versions = data("kv", "metadata", "get", *at)["data"]["versions"]
    expect((versions["1"]["destroyed"], versions["2"]["destroyed"]), (True, False))
    assert versions["2"]["deletion_time"]


@operation("write, patch, read and delete the metadata of a secret (bao kv metadata)")
def _():
    at = ["-mount=team/deep/kv", "app"]
    bao("kv", "metadata", "put", "-max-versions=9", "-custom-metadata=owner=a", "-delete-version-after=1h", *at)
    bao("kv", "metadata", "patch", "-max-versions=3", "-custom-metadata=tier=1", *at)
    metadata = data("kv", "metadata", "get", *at)["data"]
    expect((metadata["max_versions"], metadata["custom_metadata"]), (3, {"owner": "a", "tier": "1"}))
    expect(metadata["delete_version_after"], "1h0m0s")
    bao("kv", "metadata", "delete", *at)
    expect_failure("kv", "list", "team/deep/kv")


@operation("move and disable a secrets engine (bao secrets)")
def _():
    bao("kv", "put", "team/deep/kv/app", "password=p")
    bao("secrets", "tune", "-description=moved", "team/deep/kv")
    bao("secrets", "move", "team/deep/kv/", "kv2/")
    expect(data("secrets", "list")["kv2/"]["description"], "moved")
    expect(bao("kv", "get", "-field=password", "kv2/app"), "p")
    bao("secrets", "disable", "kv2")


@operation("log in with AppRole (bao write)")
def _():
    bao("auth", "enable", "approle")
    bao("write", "auth/approle/role/job", "token_policies=job", "role_id=job-1", "secret_id_num_uses=1")
    secret_id = bao("write", "-f", "-field=secret_id", "auth/approle/role/job/secret-id")
    credentials = ["auth/approle/login", "role_id=job-1", f"secret_id={secret_id}"]
    expect(data("write", *credentials)["auth"]["token_policies"], ["default", "job"])
    expect_failure("write", *credentials)


@operation("log in with a username and password (bao login)")
def _():
    bao("auth", "enable", "userpass")
    bao("write", "auth/userpass/users/ada", "password=correct horse", "token_policies=job")
    found = login("-method=userpass", "username=ada", "password=correct horse")
    expect((found["path"], found["policies"]), ("auth/userpass/login/ada", ["default", "job"]))
    expect_failure("login", "-method=userpass", "username=ada", "password=wrong", BAO_TOKEN=None)


@operation("log in with the token of a service account (bao login -method=kubernetes)")
def _():
    cluster = json.loads(os.environ["CLUSTER"])
    bao("auth", "enable", "-path=pods", "kubernetes")
    config = [f"kubernetes_host={cluster['host']}", f"kubernetes_ca_cert={cluster['ca_cert']}"]
    bao("write", "auth/pods/config", *config, f"token_reviewer_jwt={cluster['reviewer']}", "disable_local_ca_jwt=true")
    bound = ["bound_service_account_names=web", "bound_service_account_namespaces=dev"]
    bao("write", "auth/pods/role/web", *bound, f"audience={cluster['audience']}", "token_policies=job")
    method = ["-method=kubernetes", "-path=pods", "role=web"]
    found = login(*method, f"jwt={cluster['jwt']}")
    expect((found["path"], found["policies"]), ("auth/pods/login", ["default", "job"]))
    expect(found["meta"]["service_account_name"], "web")
    expect_failure("login", *method, "jwt=a.b.c", BAO_TOKEN=None)


@operation("read the help of a path (bao path-help)")
def _():
    assert "secret" in bao("path-help", "auth/approle/role/job")


@operation("encrypt with the transit engine (bao secrets enable)")
def _():
    bao("secrets", "enable", "transit")
