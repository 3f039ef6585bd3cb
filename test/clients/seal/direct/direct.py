"""Reads a secret with hvac without a login beforehand: the JWT as the token, and the login in the headers.

usage: direct.py URL JWT

Exits with an error if a response is not what hvac's callers expect.
"""

import base64
import json
import sys

import hvac

url, jwt = sys.argv[1:]


def read(client):
    return client.secrets.kv.v2.read_secret_version(
        "db", mount_point="shop", raise_on_deleted_version=True
    )["data"]["data"]


client = hvac.Client(url=url, token=jwt)
assert client.is_authenticated()
assert read(client) == {"password": "p"}
own = client.auth.token.lookup_self()["data"]
assert own["id"] == jwt and own["display_name"] == "jwt-build-7"
for refused in (client.auth.token.renew_self, client.auth.token.create):
    try:
        refused()
        raise AssertionError("the server accepted it")
    except hvac.exceptions.InvalidRequest:
        pass
assert not hvac.Client(url=url, token=jwt[:-2] + "xx").is_authenticated()


def parameter(key, value):
    text = json.dumps({"key": key, "value": value}).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


client = hvac.Client(url=url)
prefix = "X-Vault-Inline-Auth-"
client.session.headers.update(
    {
        f"{prefix}Path": "auth/jwt/login",
        f"{prefix}Parameter-role": parameter("role", "ci"),
        f"{prefix}Parameter-jwt": parameter("jwt", jwt),
    }
)
assert read(client) == {"password": "p"}
client.session.headers[f"{prefix}Parameter-jwt"] = parameter("jwt", jwt[:-2] + "xx")
try:
    read(client)
    raise AssertionError("the server accepted it")
except hvac.exceptions.InvalidRequest:
    pass
print("done")
