#!/bin/sh
# Installs what `npm run sbom` and `npm run licenses` use, into the cache folder of this project. Needs npm.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../node_modules/.cache/release-tools

mkdir -p "$to"
cp "$here/package.json" "$here/package-lock.json" "$to"
npm ci --prefix "$to" --ignore-scripts --omit=optional --prefer-offline --no-audit --no-fund --silent
