import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { type Issuer, startIssuer } from '../../simulators/ci-issuer/issuer.ts'
import type { Directory } from '../../simulators/directory/directory.ts'
import { startDirectory } from '../../simulators/directory/start-directory.ts'
import { host, listen, stop } from '../../simulators/loopback.ts'
import { startTestServer } from '../support/start-server.ts'
import { readPage } from './page.ts'

/** What the platform of the job and an administrator's `az` do. */
async function startOutside(issuer: Issuer, directory: Directory) {
  const answers = async (request: IncomingMessage): Promise<string> => {
    if (request.method === 'GET') {
      const aud = new URL(request.url ?? '', 'http://h').searchParams.get('audience')
      return JSON.stringify({ value: await issuer.signPipeline('github', { aud: aud ?? '' }) })
    }
    return trust(directory, JSON.parse(await text(request)) as string[])
  }
  const server = createServer((request: IncomingMessage, response: ServerResponse) => {
    answers(request).then(
      (body) => response.end(body),
      (error: unknown) => response.writeHead(500).end(String(error)),
    )
  })
  const url = `http://${host}:${await listen(server, 0)}`
  return { url, [Symbol.asyncDispose]: () => stop(server) }
}

const after = (command: readonly string[], flag: string): string => command[command.indexOf(flag) + 1] ?? ''

/** `az ad app federated-credential create` */
function trust(directory: Directory, command: readonly string[]): string {
  expect(command.slice(0, 4).join(' ')).toBe('ad app federated-credential create')
  expect(after(command, '--id')).toBe(directory.rootClientId)
  const { name, issuer, subject, audiences } = JSON.parse(after(command, '--parameters')) as {
    name: string
    issuer: string
    subject: string
    audiences: [string]
  }
  directory.admin.addTrust(directory.rootApplicationId, { name, issuer, subject, audience: audiences[0] })
  return '{}'
}

test('the commands of docs/cloud-no-secret.md need no secret anywhere', { timeout: 90_000 }, async () => {
  await using issuer = await startIssuer({ algorithms: ['RS256'] })
  await using directory = await startDirectory()
  await using outside = await startOutside(issuer, directory)
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
      ...{ CLIENT_ID: directory.rootClientId, DEPLOY_OBJECT_ID: deploy.id },
      ...{ TENANT_ID: directory.tenantId, SUBSCRIPTION_ID: directory.subscriptionId },
      ...{ AZ_URL: outside.url, AZ_LOGIN: directory.authorityUrl, NODE_EXTRA_CA_CERTS: directory.caFile },
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
  const credentials = directory.inventory().map(({ kind }) => kind)
  expect(credentials.filter((kind) => kind === 'password' || kind === 'certificate')).toEqual([])
})
