"""An application: logs in with AppRole, and prints a secret of each version of kv. Its settings are in the environment."""

import os

import hvac

client = hvac.Client(url=os.environ["VAULT_ADDR"])
client.auth.approle.login(
    os.environ["ROLE_ID"], os.environ["SECRET_ID"], mount_point="machines"
)
second = client.secrets.kv.v2.read_secret_version(
    path="shop/db", mount_point="team", raise_on_deleted_version=True
)
first = client.secrets.kv.v1.read_secret(path="mail", mount_point="old")
print(second["data"]["data"]["password"], second["data"]["metadata"]["version"], first["data"]["password"])
