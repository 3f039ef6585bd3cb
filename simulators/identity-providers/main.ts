import { once } from 'node:events'
import { writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startIdentityProviders } from './identity-providers.ts'

/**
 * `node simulators/identity-providers/main.ts`: Graph, Google and Okta for a server started with the printed
 * variables. Ctrl-C ends it.
 */
await using providers = await startIdentityProviders()
const { hosts, graph, google, okta } = providers
const [caFile, keyFile] = [
  join(tmpdir(), 'identity-providers-ca.pem'),
  join(tmpdir(), 'identity-providers-google-key.json'),
]
await writeFile(caFile, hosts.caPem)
await writeFile(keyFile, google.keyFile)
const [person, groups] = ['alice@example.com', ['eng@example.com', 'ops@example.com']]
graph.groupsByToken.set('stand-in-access-token', groups)
okta.groupsByUser.set(person, groups)
google.groupsByMember.set(person, groups)
google.groupsByMember.set('eng@example.com', ['all@example.com'])
google.groupsByMember.set('ops@example.com', [])
google.groupsByMember.set('all@example.com', [])
google.schemasByUser.set(person, { Preferences: { shirt_size: 'M' } })
process.stdout.write(`Graph, Google and Okta are listening. To point a server at them:

export HTTPS_PROXY=${hosts.proxyUrl} NO_PROXY=127.0.0.1 NODE_EXTRA_CA_CERTS=${caFile}

They know ${person}, a member of ${groups.join(' and ')}. A provider_config for each:

  {"provider": "azure", "fetch_groups": true}      and log in with distributed_claim_access_token=stand-in-access-token
  {"provider": "gsuite", "gsuite_service_account": "${keyFile}", "gsuite_admin_impersonate": "${google.admin}", "fetch_groups": true}
  {"provider": "okta", "org_url": "https://example.okta.com", "api_token": "${okta.apiToken}", "fetch_groups": true}
`)
await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')])
