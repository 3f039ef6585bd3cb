import { expect, test } from 'vitest'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { send, sendSuccessfully } from '../../simulators/operator.ts'
import { cloudCredentials } from '../../simulators/sample/cloud.ts'
import type { Operator } from '../../simulators/sample/operator.ts'
import { startTestServer } from '../support/start-server.ts'

test('of the sample, one credential is left in the cloud, and all others can be revoked', async () => {
  await using directory = await startDirectory()
  await using server = await startTestServer({
    settings: { DEFAULT_MOUNTS: 'cloud=cloud' },
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
  })
  const operator: Operator = {
    url: server.url,
    write: (path, body) => sendSuccessfully(server.url, { method: 'POST', path, token: 'root', body }),
    as: (token, call) => send(server.url, { ...call, token: token ?? 'root' }),
  }

  await cloudCredentials(operator, directory, ['root', 'root', 'root'])

  const debris = await server.root.read('cloud/debris')
  expect(debris.body.data?.['objects']).toHaveLength(1)
  const leases = await server.root.list('sys/leases/lookup/cloud/creds/reports')
  for (const id of [leases.body.data?.keys].flat())
    expect(
      await server.root.write('sys/leases/revoke', { lease_id: `cloud/creds/reports/${id}`, sync: true }),
    ).toMatchObject({ status: 204 })
})
