#!/bin/sh
# Fetches the source distribution of hvac, which has its tests, into the folder FOLDER/source.
# usage: fetch.sh FOLDER
set -eu
folder=$1
version=$(sed -n 's/^hvac==//p' "$(dirname "$0")/requirements.txt")

[ -e "$folder/source/.version-$version" ] && exit
rm -rf "$folder/source" "$folder/archive"
"$folder/bin/pip" download --quiet --disable-pip-version-check --no-deps --no-binary :all: --dest "$folder/archive" "hvac==$version"
mkdir "$folder/source"
tar -xzf "$folder/archive/hvac-$version.tar.gz" -C "$folder/source" --strip-components 1
touch "$folder/source/.version-$version"
