import { once } from 'node:events'
import { startFromCommandLine } from '../by-hand.ts'
import { startCluster } from './cluster.ts'

/** `node simulators/cluster/main.ts [--port 9443]`: a cluster for use with curl, in clear. Ctrl-C ends it. */
await using cluster = await startFromCommandLine((port) => startCluster({ port, isPlain: true }))
process.stdout.write(`Cluster: ${cluster.url}

  The accounts web and job are in the namespaces dev and prod.

  REVIEWER=${cluster.reviewer}
  JWT=$(curl -s -H "Authorization: Bearer $REVIEWER" ${cluster.url}/api/v1/namespaces/dev/serviceaccounts/web/token \\
    -d '{"spec": {"audiences": ["gatehouse"]}}' | jq -r .status.token)
`)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
