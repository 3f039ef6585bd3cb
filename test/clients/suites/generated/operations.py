"""What the drivers of generated Python clients share. Their environment is that of ../hvac/driver.py."""

import json
import os
import urllib.parse
import urllib.request


def operation(name):
    """Runs the decorated function, and prints a line of JSON that says whether it fails."""

    def run(body):
        url = f"{os.environ['CONTROL_URL']}?{urllib.parse.urlencode({'operation': name})}"
        urllib.request.urlopen(urllib.request.Request(url, method="PUT")).close()
        try:
            body()
            print(json.dumps({"operation": name}), flush=True)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            print(json.dumps({"operation": name, "error": text}), flush=True)

    return run


def expect(seen, wanted):
    assert seen == wanted, f"expected {wanted!r}, received {seen!r}"


cloud = json.loads(os.environ["AZURE"])
cloud_roles = json.dumps([{"role_name": "Reader", "scope": os.environ["AZURE_SCOPE"]}])
policy = 'path "auth/jwt/role/*" { capabilities = ["read"] }'
