"""Runs operations of the client that openapi-generator generates."""

import os

import openapi_client as api
from openapi_client.exceptions import ApiException
from operations import cloud, cloud_roles, expect, operation, policy


def client(token=None):
    configuration = api.Configuration(host=os.environ["VAULT_ADDR"] + "/v1")
    if token is not None:
        configuration.api_key["token"] = token
    return api.ApiClient(configuration)


root = client(os.environ["VAULT_TOKEN"])
system, jwt, token, kv = api.SystemApi(root), api.JwtApi(root), api.TokenApi(root), api.KvV2Api(root)


@operation("read the health")
def _():
    expect(api.NodeApi(client()).sys_health_read().sealed, False)


@operation("write, read, list and delete an ACL policy")
def _():
    system.sys_policies_acl_path_write("job", api.SystemPoliciesAclPathPostInput(policy=policy))
    expect(system.sys_policies_acl_path_read("job").data.policy, policy)
    assert "job" in system.sys_policies_acl_list("true").data.keys
    system.sys_policies_acl_path_delete("job")
    assert "job" not in system.sys_policies_acl_list("true").data.keys


@operation("enable, list and disable an auth method")
def _():
    system.auth_enable_method("ci", api.SystemAuthPathPostInput(type="jwt"))
    expect(system.auth_list_enabled_methods().data["ci/"].type, "jwt")
    system.auth_disable_method("ci")
    assert "ci/" not in system.auth_list_enabled_methods().data


@operation("configure the jwt method and write a role")
def _():
    jwt.auth_jwt_config_write(api.JwtConfigPostInput(jwt_validation_pubkeys=[os.environ["JWT_KEY"]]))
    role = {"role_type": "jwt", "user_claim": "sub", "bound_audiences": ["ci"], "token_policies": ["job"]}
    jwt.auth_jwt_role_name_write("build", api.JwtRoleNamePostInput(**role))
    expect(jwt.auth_jwt_role_list("true").data.keys, ["build"])


@operation("log in with a JWT")
def _():
    body = api.JwtLoginPostInput(role="build", jwt=os.environ["JWT"])
    login = api.JwtApi(client()).auth_jwt_login_write(body)
    expect(login.auth.policies, ["default", "job"])
    own = api.TokenApi(client(login.auth.client_token))
    expect(own.auth_token_lookup_self_read().data.path, "auth/jwt/login")
    own.auth_token_revoke_self_write(api.TokenRevokeSelfPostInput())


@operation("log in with a JWT that the role refuses")
def _():
    try:
        api.JwtApi(client()).auth_jwt_login_write(api.JwtLoginPostInput(role="build", jwt="a.b.c"))
    except ApiException as error:
        return expect(error.status, 400)
    raise AssertionError("the call was accepted")


@operation("create, look up and revoke a token")
def _():
    made = token.auth_token_create_write(api.TokenCreatePostInput(policies=["job"], ttl="1h")).auth
    accessor = made.accessor
    found = token.auth_token_lookup_accessor_write(api.TokenLookupAccessorPostInput(accessor=accessor))
    expect(found.data.policies, ["default", "job"])
    token.auth_token_revoke_accessor_write(api.TokenRevokeAccessorPostInput(accessor=accessor))


@operation("write, read and delete an entity")
def _():
    identity = api.IdentityApi(root)
    identity.identity_entity_name_name_write("ada", api.IdentityEntityNameNamePostInput(policies=["job"]))
    expect(identity.identity_entity_name_name_read("ada").data.policies, ["job"])
    identity.identity_entity_name_name_delete("ada")


@operation("issue and revoke cloud credentials")
def _():
    engine = api.CloudApi(root)
    engine.cloud_config_write(api.CloudConfigPostInput(**cloud))
    engine.cloud_roles_name_write("reader", api.CloudRolesNamePostInput(cloud_roles=cloud_roles, ttl="1h"))
    lease = engine.cloud_creds_name_read("reader")
    assert lease.data.client_secret
    system.sys_leases_revoke_write(api.SystemLeasesRevokePostInput(lease_id=lease.lease_id))


@operation("create, read and delete a rate limit")
def _():
    system.sys_quotas_rate_limit_name_write("all", api.SystemQuotasRateLimitNamePostInput(rate=10000))
    expect(system.sys_quotas_rate_limit_name_read("all").data.rate, 10000)
    system.sys_quotas_rate_limit_name_delete("all")


def expect_status(status, call):
    try:
        call()
    except ApiException as error:
        return expect(error.status, status)
    raise AssertionError("the call was accepted")


@operation("write, patch, read, list and delete a secret (kv, version 2)")
def _():
    def write(password, cas):
        body = api.KvV2DataPathPostInput(data={"password": password}, options={"cas": cas})
        return kv.secret_data_path_write("team/app", body).data.version

    expect([write("p1", 0), write("p2", 1)], [1, 2])
    expect_status(400, lambda: write("no", 1))
    kv.secret_data_path_patch("team/app", api.KvV2DataPathPatchInput(data={"user": "ada"}))
    expect(kv.secret_data_path_read("team/app").data.data, {"password": "p2", "user": "ada"})
    expect(kv.secret_data_path_read("team/app", version=1).data.data, {"password": "p1"})
    expect(kv.secret_metadata_path_list("team", "true").data.keys, ["app"])


@operation("delete, undelete and destroy versions of a secret (kv, version 2)")
def _():
    kv.secret_data_path_delete("team/app")
    expect_status(404, lambda: kv.secret_data_path_read("team/app"))
    kv.secret_undelete_path_write("team/app", api.KvV2UndeletePathPostInput(versions=[3]))
    kv.secret_delete_path_write("team/app", api.KvV2DeletePathPostInput(versions=[1, 2]))
    kv.secret_destroy_path_write("team/app", api.KvV2DestroyPathPostInput(versions=[1]))
    notes = api.KvV2MetadataPathPostInput(custom_metadata={"owner": "a"})
    kv.secret_metadata_path_write("team/app", kv_v2_metadata_path_post_input=notes)
    metadata = kv.secret_metadata_path_read("team/app").data
    expect(metadata.custom_metadata, {"owner": "a"})
    expect((metadata.current_version, metadata.versions["1"].destroyed), (3, True))
    kv.secret_metadata_path_delete("team/app")


@operation("log in with AppRole")
def _():
    approle = api.ApproleApi(root)
    role = api.ApproleRoleRoleNamePostInput(token_policies=["job"], role_id="job-1")
    approle.auth_approle_role_role_name_write("job", role)
    expect(approle.auth_approle_role_role_name_read("job").data.token_policies, ["job"])
    made = approle.auth_approle_role_role_name_secret_id_write("job", api.ApproleRoleRoleNameSecretIdPostInput()).data
    body = api.ApproleLoginPostInput(role_id="job-1", secret_id=made.secret_id)
    expect(api.ApproleApi(client()).auth_approle_login_write(body).auth.policies, ["default", "job"])


@operation("log in with a username and password")
def _():
    user = api.UserpassUsersUsernamePostInput(password="correct horse", token_policies=["job"])
    api.UserpassApi(root).auth_userpass_users_username_write("ada", user)
    body = api.UserpassLoginUsernamePostInput(password="correct horse")
    login = api.UserpassApi(client()).auth_userpass_login_username_write("ada", body)
    expect(login.auth.policies, ["default", "job"])
