import { expect, test } from 'vitest'
import { findEnvironment } from '../../../../src/plugins/cloud/upstream/index.ts'
import { openExchange } from '../../../../src/plugins/cloud/upstream/transport.ts'

const call = { deadline: Date.now() + 60_000, correlationId: '0f6e1f3a-0000-4000-8000-000000000001' }
const tenantId = '0f6e1f3a-0000-4000-8000-00000000000a'

// These hosts are not asked for their endpoints (docs/decisions/0007-cloud-clients.md). No test reaches them.
test.each([
  { environment: 'AzurePublicCloud', host: 'login.microsoftonline.com' },
  { environment: 'AzureUSGovernmentCloud', host: 'login.microsoftonline.us' },
  { environment: 'AzureChinaCloud', host: 'login.partner.microsoftonline.cn' },
])('the secret of $environment is sent to $host in one request', async ({ environment, host }) => {
  const sent: { method: string; url: string; body?: string | undefined }[] = []
  const body = Buffer.from('{"token_type":"Bearer","expires_in":3599,"access_token":"a"}')
  const connection = {
    send: async (request: { method: string; url: string; body?: string | undefined }) => {
      sent.push(request)
      return { status: 200, headers: {}, body }
    },
  }
  const found = findEnvironment(environment)
  if (found === undefined) throw new Error('the environment is a fixture')
  const exchange = openExchange({ environment: found, tenantId }, connection)

  const { token } = await exchange(
    { clientId: 'client', proof: { secret: 'secret' } },
    'https://graph.example/.default',
    call,
  )

  const [request] = sent
  const { origin, pathname } = new URL(request?.url ?? '')
  expect([token, sent.length, request?.method, origin, pathname]).toEqual([
    'a',
    1,
    'POST',
    `https://${host}`,
    `/${tenantId}/oauth2/v2.0/token`,
  ])
  expect(Object.fromEntries(new URLSearchParams(request?.body))).toMatchObject({
    client_id: 'client',
    client_secret: 'secret',
    grant_type: 'client_credentials',
    scope: expect.stringContaining('https://graph.example/.default'),
    'client-request-id': call.correlationId,
  })
})
