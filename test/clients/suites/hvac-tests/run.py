"""Runs hvac's own integration tests as they are published, and prints a line of JSON for each.

usage: run.py SOURCE [TEST…]
"""

import json
import os
import sys

import pytest

# each is one line: the server offers nothing of what they test
OUT_OF_SCOPE = {
    "api/auth_methods": ["aws", "azure", "cert", "gcp", "github", "ldap", "legacy_mfa", "okta"],
    "api/secrets_engines": ["aws", "gcp", "pki", "ssh", "transform", "transit"],
    "api/system_backend": ["raft"],
}

NO_KEYS = (
    "'dict' object has no attribute 'status_code'",
    "the provider of the test publishes no key yet; Vault answers 204, Gatehouse 200 with `warnings` that say so",
)
POLICY_VERSIONS = (
    "'cas_required': False",
    "policies also have `version`, `modified` and `cas_required`, as in OpenBao",
)
NO_CERTIFICATE = (
    "The provided CA PEM data contains no valid certificates",
    "the authority of the test is no certificate; Vault refuses it too in later versions",
)

# the tests that demand what the server refuses to do, with a part of their message, and why
BY_CHOICE = {
    "api/auth_methods/test_oidc.py::TestOIDC::test_oidc_authorization_url_request_0_success": (
        "'?client_id=hvac-client-id' not found in ''",
        "the provider of the test has no authorization endpoint; Vault returns a URL without a host, "
        "Gatehouse an empty one with the cause in `warnings`",
    ),
    "api/auth_methods/test_jwt.py::TestJWT::test_configure_0_configure_using_vault_identity_OIDC": NO_KEYS,
    **{
        f"api/auth_methods/test_kubernetes.py::TestKubernetes::{name}": NO_CERTIFICATE
        for name in [
            "test_configure_0_success",
            "test_configure_1_issuer_test",
            "test_list_roles_0_success",
            "test_list_roles_1_no_roles",
            "test_read_config_0_success",
        ]
    },
    "api/auth_methods/test_kubernetes.py::TestKubernetes::test_configure_5_missing_kubernetes_ca_cert": (
        "InvalidRequest not raised",
        "without an authority, those of the system count, as in later versions of Vault",
    ),
    "api/auth_methods/test_oidc.py::TestOIDC::test_configure_0_configure_using_vault_identity_OIDC": NO_KEYS,
    "api/system_backend/test_policies.py::TestPolicies::test_create_acl_policy": POLICY_VERSIONS,
    "api/system_backend/test_policies.py::TestPolicies::test_read_acl_policy": POLICY_VERSIONS,
    "api/system_backend/test_policies.py::TestPolicies::test_update_acl_policy": POLICY_VERSIONS,
}


class Lines:
    def __init__(self, output):
        self.output = output

    def print(self, line):
        print(json.dumps(line), file=self.output, flush=True)

    def pytest_runtest_logreport(self, report):
        is_end = report.when == "call" or report.failed
        if not is_end or report.skipped:
            return
        line = {"operation": report.nodeid.split("integration_tests/")[-1]}
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            line["error"] = crash.message if crash else str(report.longrepr)
            part, reason = BY_CHOICE.get(line["operation"], ("", ""))
            if reason and part in line["error"]:
                line["error"] = f"by choice: {reason}"
        self.print(line)


source, *tests = sys.argv[1:]
os.chdir(source)
sys.path.insert(0, source)
# what pytest prints is not for the caller
lines = Lines(os.fdopen(os.dup(1), "w"))
os.dup2(2, 1)
ignored = []
for folder, names in OUT_OF_SCOPE.items():
    for name in names:
        file = f"{folder}/test_{name}.py"
        lines.print({"operation": file, "verdict": "unsupported", "error": "all of it is about a feature that is not offered"})
        ignored.append(f"--ignore=tests/integration_tests/{file}")
# its own options would run the tests in several processes
options = ["-q", "-c", os.devnull, "--rootdir", source, "-p", "no:cacheprovider", "--tb=line", *ignored]
pytest.main([*options, *(tests or ["tests/integration_tests"])], plugins=[lines])
