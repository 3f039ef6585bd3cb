import { once } from 'node:events'
import { startByHand } from '../by-hand.ts'
import { startDirectory } from './directory.ts'

/** `node simulators/directory/main.ts [--port 9300]`: the cloud for a person with curl; also takes `--port` + 1, 2 and 3. Ends with Ctrl-C. */
await using directory = await startByHand((port) => startDirectory({ port, controls: true }))
process.stdout.write(`The stand-in for the cloud listens. For the terminal of the server, before it starts:

export CLOUD_AUTHORITY_HOST=${directory.authorityUrl}
export CLOUD_DIRECTORY_ENDPOINT=${directory.directoryUrl}
export CLOUD_RESOURCE_MANAGER_ENDPOINT=${directory.resourceManagerUrl}
export CLOUD_CA_FILE=${directory.caFile}

For the terminal with curl, among it the client id and the secret of the root:

export CA_FILE=${directory.caFile}
export LOGIN=${directory.authorityUrl}/${directory.tenantId} MANAGER=${directory.resourceManagerUrl}
export TENANT_ID=${directory.tenantId} SUBSCRIPTION_ID=${directory.subscriptionId}
export CLIENT_ID=${directory.rootClientId} CLIENT_SECRET=${directory.rootClientSecret}

What is in it, and two ways to make it behave like the real one:

  curl -s ${directory.controlUrl}/inventory
  curl -s ${directory.controlUrl}/settings -d '{"delaySeconds": {"secretToToken": 20}, "replicas": 3}'
  curl -s ${directory.controlUrl}/faults -d '{"kind": "throttled", "operation": "createApplication", "retryAfterSeconds": 2}'
`)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
