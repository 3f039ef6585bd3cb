import json
import sys

from gatehouse_client import AuthenticatedClient, Client
from gatehouse_client.api.jwt import auth_jwt_login_write
from gatehouse_client.api.token import auth_token_lookup_self_read
from gatehouse_client.models import JwtLoginPostInput

url, jwt = sys.argv[1:]
login = auth_jwt_login_write.sync(client=Client(base_url=url + "/v1"), body=JwtLoginPostInput(role="ci", jwt=jwt))
token = login.auth.client_token
client = AuthenticatedClient(base_url=url + "/v1", token=token, prefix="", auth_header_name="X-Vault-Token")
self = auth_token_lookup_self_read.sync(client=client)
print(json.dumps({"token": token, "policies": self.data.policies}))
