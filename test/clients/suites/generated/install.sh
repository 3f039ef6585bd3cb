#!/bin/sh
# Installs the generators of API clients, for test/clients/generated.test.ts, into the cache folder of this project, and the clients
# of test/clients/seal. Needs npm, python3 with venv, Maven with a Java runtime, and Go. Where Terraform is, its Vault provider is built
# for test/clients/migrate-page.test.ts.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../../../node_modules/.cache/openapi-generators
version=7.16.0

mkdir -p "$to"
cp "$here/package.json" "$here/package-lock.json" "$to"
npm ci --prefix "$to" --ignore-scripts --prefer-offline --no-audit --no-fund
python3 -m venv "$to/python"
"$to/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt" --requirement "$here/../../seal/requirements.txt"
(cd "$here/../../seal" && go mod download)
if command -v terraform >/dev/null; then
  (cd "$here/../terraform" && go build -o "$to/terraform/terraform-provider-vault" github.com/terraform-providers/terraform-provider-vault)
fi
mvn --quiet --batch-mode dependency:get -Dartifact=org.openapitools:openapi-generator-cli:$version -Dtransitive=false
mvn --quiet --batch-mode dependency:copy -Dartifact=org.openapitools:openapi-generator-cli:$version -DoutputDirectory="$to" -Dmdep.stripVersion=true
