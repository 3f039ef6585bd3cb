#!/bin/sh
# Installs what `npm run sbom`, `npm run licenses` and `npm run release` use, into the cache folder of this project, unless it is
# there. Needs npm.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
to=$here/../../node_modules/.cache/release-tools

if cmp -s "$here/package-lock.json" "$to/installed-lock.json"; then exit; fi
mkdir -p "$to"
cp "$here/package.json" "$here/package-lock.json" "$to"
npm ci --prefix "$to" --ignore-scripts --omit=optional --prefer-offline --no-audit --no-fund --silent
cp "$here/package-lock.json" "$to/installed-lock.json"
