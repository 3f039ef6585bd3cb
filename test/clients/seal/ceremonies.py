"""Initializes, unseals and rekeys a server with hvac.

usage: ceremonies.py URL

Exits with an error if a response is not what hvac's callers expect.
"""

import base64
import sys

import hvac

client = hvac.Client(url=sys.argv[1])
assert not client.sys.is_initialized()

made = client.sys.initialize(secret_shares=5, secret_threshold=3)
keys = made["keys"]
assert len(keys) == len(made["keys_base64"]) == 5
client.token = made["root_token"]
assert client.sys.is_sealed()

assert client.sys.submit_unseal_key(keys[0])["progress"] == 1
assert client.sys.submit_unseal_key(reset=True)["progress"] == 0
client.sys.submit_unseal_keys(keys[2:])
assert not client.sys.is_sealed()
assert client.is_authenticated()

begun = client.sys.start_rekey(
    secret_shares=2, secret_threshold=2, require_verification=True
)
assert begun["started"] and begun["required"] == 3
assert client.sys.read_rekey_progress()["progress"] == 0
result = client.sys.rekey_multi(keys[:3], nonce=begun["nonce"])
assert result["complete"] and result["verification_required"]
fresh = result["keys"]
verified = client.sys.rekey_verify_multi(fresh, nonce=result["verification_nonce"])
assert verified["complete"]

begun = client.sys.start_rekey(secret_shares=1, secret_threshold=1)
client.sys.cancel_rekey()
assert not client.sys.read_rekey_progress()["started"]

client.sys.seal()
assert client.sys.is_sealed()
client.sys.submit_unseal_keys(fresh)
assert not client.sys.is_sealed()

otp = "0123456789abcdefghijABCDEFGH"
begun = client.sys.start_root_token_generation(otp=otp)
assert begun["started"] and begun["otp_length"] == len(otp)
for key in fresh:
    result = client.sys.generate_root(key=key, nonce=begun["nonce"])
assert result["complete"]
encoded = result["encoded_root_token"]
hidden = base64.b64decode(encoded + "=" * (-len(encoded) % 4))
token = bytes(a ^ b for a, b in zip(hidden, otp.encode())).decode()
assert hvac.Client(url=sys.argv[1], token=token).is_authenticated()

client.sys.start_root_token_generation(otp=otp)
client.sys.cancel_root_generation()
assert not client.sys.read_root_generation_progress()["started"]
print("done")
