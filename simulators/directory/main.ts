import { once } from 'node:events'
import { parseArgs } from 'node:util'
import { startDirectory } from './directory.ts'

/** `node simulators/directory/main.ts [--port 9300]`: the cloud for a person with curl; also takes `--port` + 1, 2 and 3. Ends with Ctrl-C. */
const { values } = parseArgs({ options: { port: { type: 'string', default: '0' } } })

await using directory = await startDirectory({ port: Number(values.port), controls: true })
process.stdout.write(`The stand-in for the cloud listens. To aim a server at it:

export CLOUD_AUTHORITY_HOST=${directory.authorityUrl}
export CLOUD_DIRECTORY_ENDPOINT=${directory.directoryUrl}
export CLOUD_RESOURCE_MANAGER_ENDPOINT=${directory.resourceManagerUrl}
export CLOUD_CA_FILE=${directory.caFile}
export CLOUD_TENANT_ID=${directory.tenantId}
export CLOUD_SUBSCRIPTION_ID=${directory.subscriptionId}

The root:  client id ${directory.rootClientId}
           client secret ${directory.rootClientSecret}

  curl -s ${directory.controlUrl}/inventory
  curl -s ${directory.controlUrl}/settings -d '{"delaySeconds": {"secretToToken": 20}, "replicas": 3}'
  curl -s ${directory.controlUrl}/faults -d '{"kind": "throttled", "operation": "createApplication", "retryAfterSeconds": 2}'
`)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
