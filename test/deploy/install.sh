#!/bin/sh
# Installs what checks the files of deploy/ and the Dockerfile, for test/deploy, into the cache folder of this project: Helm, which is
# compiled (minutes, the first time), what reads files of Compose, a linter for Dockerfiles, and the schemas of Kubernetes. Needs Go, and python3 with venv.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../node_modules/.cache/deploy-tools

mkdir -p "$to"
to=$(cd "$to" && pwd)
python3 -m venv "$to/python"
"$to/python/bin/pip" install --quiet --disable-pip-version-check --requirement "$here/requirements.txt"
GOBIN=$to GOFLAGS=-trimpath go install helm.sh/helm/v3/cmd/helm@v3.22.0
GOBIN=$to/compose GOFLAGS=-trimpath go install github.com/compose-spec/compose-go/v2/cmd@v2.16.2
