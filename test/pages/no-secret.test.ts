import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { startTestServer } from '../support/start-server.ts'
import { startAdministrator } from './administrator.ts'
import { readPage } from './page.ts'

test('the commands of docs/cloud-no-secret.md need no secret anywhere', { timeout: 90_000 }, async () => {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using directory = await startDirectory()
  await using outside = await startAdministrator(directory, {
    // the platform of the job
    get: async ({ searchParams }) => {
      const aud = searchParams.get('audience') ?? ''
      return JSON.stringify({ value: await issuer.signPipeline('github', { aud }) })
    },
  })
  await using server = await startTestServer({
    environment: {
      CLOUD_AUTHORITY_HOST: directory.authorityUrl,
      CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
      CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
      CLOUD_CA_FILE: directory.caFile,
    },
  })
  const { admin, rootServicePrincipalId } = directory
  const deploy = admin.addApplication({ displayName: 'deploy' })
  admin.addOwner(deploy.id, rootServicePrincipalId)

  const { requests, output } = await readPage('docs/cloud-no-secret.md', {
    filledIn: {
      'http://127.0.0.1:8200': server.url,
      'hvs.…': 'root',
      'https://management.azure.com': directory.resourceManagerUrl,
      'https://token.actions.githubusercontent.com': issuer.url,
    },
    environment: {
      CLIENT_ID: directory.rootClientId,
      DEPLOY_OBJECT_ID: deploy.id,
      TENANT_ID: directory.tenantId,
      SUBSCRIPTION_ID: directory.subscriptionId,
      AZ_URL: outside.url,
      AZ_LOGIN: directory.authorityUrl,
      NODE_EXTRA_CA_CERTS: directory.caFile,
      ACTIONS_ID_TOKEN_REQUEST_URL: `${outside.url}/token?api-version=2.0`,
      ACTIONS_ID_TOKEN_REQUEST_TOKEN: 'of-the-job',
    },
  })

  // the application has no role at this resource group, so the manager knows the token and refuses it
  expect(requests.filter((line) => !line.startsWith('20'))).toEqual([
    expect.stringMatching(/^403 GET \/subscriptions\/.*\/resourceGroups\/web/),
  ])
  expect(output).toContain('{"name":"sign_in","ok":true')
  expect(output).toContain('signed in')
  // README.md shows what the job runs
  const [, step = ''] = /^- run: \|\n((?: {4}.*\n)+)/m.exec(readFileSync('README.md', 'utf8')) ?? []
  const page = readFileSync('docs/cloud-no-secret.md', 'utf8')
  expect(step.split('\n').filter((line) => !page.includes(line.trim()))).toEqual([])
  expect(step).toContain('/token/deploy')
  const credentials = directory.inventory().map(({ kind }) => kind)
  expect(credentials.filter((kind) => kind === 'password' || kind === 'certificate')).toEqual([])
})
