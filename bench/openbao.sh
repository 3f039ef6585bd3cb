#!/bin/sh
# Starts OpenBao or Vault for `npm run bench -- --against 'bench/openbao.sh bao'`, durably: on its own storage (raft), or on
# PostgreSQL if DATABASE is set. The argument is its executable. PORT, FOLDER and DATABASE: bench/other-server.ts.
set -eu
cat >"$FOLDER/server.hcl" <<END
listener "tcp" {
  address     = "127.0.0.1:$PORT"
  tls_disable = true
}
api_addr      = "http://127.0.0.1:$PORT"
cluster_addr  = "http://127.0.0.1:$((PORT + 1))"
disable_mlock = true
END
if [ -n "$DATABASE" ]; then
  printf 'storage "postgresql" {\n  connection_url = "%s?sslmode=disable"\n}\n' "$DATABASE" >>"$FOLDER/server.hcl"
else
  printf 'storage "raft" {\n  path = "%s"\n  node_id = "bench"\n}\n' "$FOLDER" >>"$FOLDER/server.hcl"
fi
exec "$1" server "-config=$FOLDER/server.hcl" -log-level=error
