import { once } from 'node:events'
import { startFromCommandLine } from '../by-hand.ts'
import { startDirectory } from './start-directory.ts'

/**
 * `node simulators/directory/main.ts [--port 9300]`: the cloud, for use with curl. Also listens on the next
 * four ports. Ctrl-C ends it.
 */
await using directory = await startFromCommandLine((port) => startDirectory({ port, controls: true }))
process.stdout.write(`The stand-in for the cloud is listening. In the terminal of the server, before it starts:

export CLOUD_AUTHORITY_HOST=${directory.authorityUrl}
export CLOUD_DIRECTORY_ENDPOINT=${directory.directoryUrl}
export CLOUD_RESOURCE_MANAGER_ENDPOINT=${directory.resourceManagerUrl}
export CLOUD_CA_FILE=${directory.caFile}

In the terminal for curl, with the client id and the secret of the root application:

export CA_FILE=${directory.caFile}
export LOGIN=${directory.authorityUrl}/${directory.tenantId} MANAGER=${directory.resourceManagerUrl}
export TENANT_ID=${directory.tenantId} SUBSCRIPTION_ID=${directory.subscriptionId}
export CLIENT_ID=${directory.rootClientId} CLIENT_SECRET=${directory.rootClientSecret}

To list its objects, and two ways to make it behave like the real cloud:

  curl -s ${directory.controlUrl}/inventory
  curl -s ${directory.controlUrl}/settings -d '{"delaySeconds": {"secretToToken": 20}, "replicas": 3}'
  curl -s ${directory.controlUrl}/faults -d '{"kind": "throttled", "operation": "createApplication", "retryAfterSeconds": 2}'
`)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
