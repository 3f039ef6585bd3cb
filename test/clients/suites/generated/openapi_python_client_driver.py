"""Runs operations of the client that openapi-python-client generates."""

import os

from gatehouse_client import AuthenticatedClient, Client, models
from gatehouse_client.api.approle import (
    auth_approle_login_write,
    auth_approle_role_role_name_read,
    auth_approle_role_role_name_secret_id_write,
    auth_approle_role_role_name_write,
)
from gatehouse_client.api.cloud import cloud_config_write, cloud_creds_name_read, cloud_roles_name_write
from gatehouse_client.api.identity import identity_entity_name_name_delete as entity_delete
from gatehouse_client.api.identity import identity_entity_name_name_read as entity_read
from gatehouse_client.api.identity import identity_entity_name_name_write as entity_write
from gatehouse_client.api.jwt import (
    auth_jwt_config_write,
    auth_jwt_login_write,
    auth_jwt_role_list,
    auth_jwt_role_name_write,
)
from gatehouse_client.api.kv_v2 import (
    secret_data_path_delete,
    secret_data_path_patch,
    secret_data_path_read,
    secret_data_path_write,
    secret_delete_path_write,
    secret_destroy_path_write,
    secret_metadata_path_delete,
    secret_metadata_path_list,
    secret_metadata_path_read,
    secret_metadata_path_write,
    secret_undelete_path_write,
)
from gatehouse_client.api.node import sys_health_read
from gatehouse_client.api.system import (
    auth_disable_method,
    auth_enable_method,
    auth_list_enabled_methods,
    sys_leases_revoke_write,
    sys_policies_acl_list,
    sys_policies_acl_path_delete,
    sys_policies_acl_path_read,
    sys_policies_acl_path_write,
)
from gatehouse_client.api.system import sys_quotas_rate_limit_name_delete as quota_delete
from gatehouse_client.api.system import sys_quotas_rate_limit_name_read as quota_read
from gatehouse_client.api.system import sys_quotas_rate_limit_name_write as quota_write
from gatehouse_client.api.token import (
    auth_token_create_write,
    auth_token_lookup_accessor_write,
    auth_token_lookup_self_read,
    auth_token_revoke_accessor_write,
    auth_token_revoke_self_write,
)
from gatehouse_client.api.userpass import auth_userpass_login_username_write, auth_userpass_users_username_write
from operations import cloud, cloud_roles, expect, operation, policy

url = os.environ["VAULT_ADDR"] + "/v1"
anonymous = Client(base_url=url)


def holder(token):
    return AuthenticatedClient(base_url=url, token=token, prefix="", auth_header_name="X-Vault-Token")


root = holder(os.environ["VAULT_TOKEN"])


def done(answer):
    """What the server sent; raises what it refused."""
    if isinstance(answer, models.Errors):
        raise RuntimeError(", ".join(answer.errors))
    return answer


@operation("read the health")
def _():
    expect(done(sys_health_read.sync(client=anonymous)).sealed, False)


@operation("write, read, list and delete an ACL policy")
def _():
    names = lambda: done(sys_policies_acl_list.sync(client=root, list_=models.SysPoliciesAclListList.TRUE)).data.keys
    body = models.SystemPoliciesAclPathPostInput(policy=policy)
    done(sys_policies_acl_path_write.sync("job", client=root, body=body))
    expect(done(sys_policies_acl_path_read.sync("job", client=root)).data.policy, policy)
    assert "job" in names()
    done(sys_policies_acl_path_delete.sync_detailed("job", client=root).parsed)
    assert "job" not in names()


@operation("enable, list and disable an auth method")
def _():
    mounts = lambda: done(auth_list_enabled_methods.sync(client=root)).data
    done(auth_enable_method.sync("ci", client=root, body=models.SystemAuthPathPostInput(type_="jwt")))
    expect(mounts()["ci/"].type_, "jwt")
    done(auth_disable_method.sync("ci", client=root))
    assert "ci/" not in mounts()


@operation("configure the jwt method and write a role")
def _():
    config = models.JwtConfigPostInput(jwt_validation_pubkeys=[os.environ["JWT_KEY"]])
    done(auth_jwt_config_write.sync(client=root, body=config))
    role = {"role_type": "jwt", "user_claim": "sub", "bound_audiences": ["ci"], "token_policies": ["job"]}
    done(auth_jwt_role_name_write.sync("build", client=root, body=models.JwtRoleNamePostInput(**role)))
    expect(done(auth_jwt_role_list.sync(client=root, list_=models.AuthJwtRoleListList.TRUE)).data.keys, ["build"])


@operation("log in with a JWT")
def _():
    body = models.JwtLoginPostInput(role="build", jwt=os.environ["JWT"])
    login = done(auth_jwt_login_write.sync(client=anonymous, body=body))
    expect(login.auth.policies, ["default", "job"])
    own = holder(login.auth.client_token)
    expect(done(auth_token_lookup_self_read.sync(client=own)).data.path, "auth/jwt/login")
    done(auth_token_revoke_self_write.sync(client=own, body=models.TokenRevokeSelfPostInput()))


@operation("log in with a JWT that the role refuses")
def _():
    body = models.JwtLoginPostInput(role="build", jwt="a.b.c")
    refused = auth_jwt_login_write.sync_detailed(client=anonymous, body=body)
    expect(refused.status_code, 400)
    assert refused.parsed.errors


@operation("create, look up and revoke a token")
def _():
    body = models.TokenCreatePostInput(policies=["job"], ttl="1h")
    accessor = done(auth_token_create_write.sync(client=root, body=body)).auth.accessor
    named = models.TokenLookupAccessorPostInput(accessor=accessor)
    found = done(auth_token_lookup_accessor_write.sync(client=root, body=named))
    expect(found.data.policies, ["default", "job"])
    named = models.TokenRevokeAccessorPostInput(accessor=accessor)
    done(auth_token_revoke_accessor_write.sync(client=root, body=named))


@operation("write, read and delete an entity")
def _():
    body = models.IdentityEntityNameNamePostInput(policies=["job"])
    done(entity_write.sync("ada", client=root, body=body))
    expect(done(entity_read.sync("ada", client=root)).data.policies, ["job"])
    done(entity_delete.sync("ada", client=root))


@operation("issue and revoke cloud credentials")
def _():
    done(cloud_config_write.sync(client=root, body=models.CloudConfigPostInput(**cloud)))
    role = models.CloudRolesNamePostInput(cloud_roles=cloud_roles, ttl="1h")
    done(cloud_roles_name_write.sync("reader", client=root, body=role))
    lease = done(cloud_creds_name_read.sync("reader", client=root))
    assert lease.data.client_secret
    named = models.SystemLeasesRevokePostInput(lease_id=lease.lease_id)
    done(sys_leases_revoke_write.sync(client=root, body=named))


@operation("create, read and delete a rate limit")
def _():
    body = models.SystemQuotasRateLimitNamePostInput(rate=10000)
    done(quota_write.sync("all", client=root, body=body))
    expect(done(quota_read.sync("all", client=root)).data.rate, 10000)
    done(quota_delete.sync("all", client=root))


@operation("write, patch, read, list and delete a secret (kv, version 2)")
def _():
    def write(password, cas):
        body = models.KvV2DataPathPostInput.from_dict({"data": {"password": password}, "options": {"cas": cas}})
        return secret_data_path_write.sync_detailed("team/app", client=root, body=body)

    def secret(version=0):
        return done(secret_data_path_read.sync("team/app", client=root, version=version)).data.data.to_dict()

    expect([write("p1", 0).status_code, write("p2", 1).status_code, write("no", 1).status_code], [200, 200, 400])
    body = models.KvV2DataPathPatchInput.from_dict({"data": {"user": "ada"}})
    done(secret_data_path_patch.sync("team/app", client=root, body=body))
    expect((secret(), secret(1)), ({"password": "p2", "user": "ada"}, {"password": "p1"}))
    listed = secret_metadata_path_list.sync("team", client=root, list_=models.SecretMetadataPathListList.TRUE)
    expect(done(listed).data.keys, ["app"])


@operation("delete, undelete and destroy versions of a secret (kv, version 2)")
def _():
    done(secret_data_path_delete.sync("team/app", client=root))
    try:
        secret_data_path_read.sync("team/app", client=root)
        raise AssertionError("the deleted version was read")
    except KeyError:
        pass  # a 404 without errors, which the client cannot decode
    done(secret_undelete_path_write.sync("team/app", client=root, body=models.KvV2UndeletePathPostInput([3])))
    done(secret_delete_path_write.sync("team/app", client=root, body=models.KvV2DeletePathPostInput([1, 2])))
    done(secret_destroy_path_write.sync("team/app", client=root, body=models.KvV2DestroyPathPostInput([1])))
    body = models.KvV2MetadataPathPostInput.from_dict({"custom_metadata": {"owner": "a"}})
    done(secret_metadata_path_write.sync("team/app", client=root, body=body))
    metadata = done(secret_metadata_path_read.sync("team/app", client=root)).data
    expect(metadata.custom_metadata.to_dict(), {"owner": "a"})
    expect((metadata.current_version, metadata.versions["1"].destroyed), (3, True))
    done(secret_metadata_path_delete.sync("team/app", client=root))


@operation("log in with AppRole")
def _():
    role = models.ApproleRoleRoleNamePostInput(token_policies=["job"], role_id="job-1")
    done(auth_approle_role_role_name_write.sync("job", client=root, body=role))
    expect(done(auth_approle_role_role_name_read.sync("job", client=root)).data.token_policies, ["job"])
    made = auth_approle_role_role_name_secret_id_write.sync("job", client=root, body=models.ApproleRoleRoleNameSecretIdPostInput())
    body = models.ApproleLoginPostInput(role_id="job-1", secret_id=done(made).data.secret_id)
    expect(done(auth_approle_login_write.sync(client=anonymous, body=body)).auth.policies, ["default", "job"])


@operation("log in with a username and password")
def _():
    user = models.UserpassUsersUsernamePostInput(password="correct horse", token_policies=["job"])
    done(auth_userpass_users_username_write.sync("ada", client=root, body=user))
    body = models.UserpassLoginUsernamePostInput(password="correct horse")
    login = done(auth_userpass_login_username_write.sync("ada", client=anonymous, body=body))
    expect(login.auth.policies, ["default", "job"])
