import json
import sys

from openapi_client import ApiClient, Configuration, JwtApi, JwtLoginPostInput, TokenApi

url, jwt = sys.argv[1:]
configuration = Configuration(host=url + "/v1")
login = JwtApi(ApiClient(configuration)).auth_jwt_login_write(JwtLoginPostInput(role="ci", jwt=jwt))
configuration.api_key["token"] = token = login.auth.client_token
self = TokenApi(ApiClient(configuration)).auth_token_lookup_self_read()
print(json.dumps({"token": token, "policies": self.data.policies}))
