import type { Directory } from '../directory/directory.ts'
import type { Sender } from '../narration.ts'
import { textIn } from '../operator.ts'
import type { Scene } from './scene.ts'

/** A credential that a job got from the cloud mount. */
export type Credential = {
  readonly leaseId: string
  readonly clientId: string
  readonly clientSecret: string
}

/** New secrets reach the cloud's three replicas within a second; removed secrets still work for a minute. */
export const slowToAgree = { replicas: 3, delaySeconds: { secretToToken: 1, removedSecretToToken: 60 } }

/** Settings that point a server at the stand-in. */
export const cloudEnvironment = (directory: Directory) => ({
  CLOUD_AUTHORITY_HOST: directory.authorityUrl,
  CLOUD_DIRECTORY_ENDPOINT: directory.directoryUrl,
  CLOUD_RESOURCE_MANAGER_ENDPOINT: directory.resourceManagerUrl,
  CLOUD_CA_FILE: directory.caFile,
})

const groupIn = (directory: Directory, name: string) =>
  `/subscriptions/${directory.subscriptionId}/resourceGroups/${name}`

/** A job requests a credential and uses it within the rights of its role. */
export async function cloudCredential(scene: Scene, job: Sender, directory: Directory): Promise<Credential> {
  const { chapter, step, visit, root } = scene
  chapter(
    'The cloud: the operator configures the application the server signs in with, and checks that its rights suffice',
  )
  const config = {
    subscription_id: directory.subscriptionId,
    tenant_id: directory.tenantId,
    client_id: directory.rootClientId,
    client_secret: directory.rootClientSecret,
  }
  await step(root, 'POST', 'cloud/config', { expect: 204, body: config })
  await step(root, 'GET', 'cloud/config/check', { expect: 200, show: ({ data }) => data })

  chapter('A role defines what a credential may do: read one resource group, for an hour')
  const cloudRoles = JSON.stringify([{ role_name: 'Reader', scope: groupIn(directory, 'web') }])
  await step(root, 'POST', 'cloud/roles/shop', { expect: 204, body: { cloud_roles: cloudRoles, ttl: '1h' } })

  chapter(
    'The job requests a credential. The new secret needs a moment to reach all of the cloud; the response waits for that',
  )
  const made = await step(job, 'GET', 'cloud/creds/shop?wait=ready', { expect: 200 })
  const credential = {
    leaseId: textIn(made, 'lease_id'),
    clientId: textIn(made, 'data', 'client_id'),
    clientSecret: textIn(made, 'data', 'client_secret'),
  }

  chapter('The credential works at once, for that resource group and no other')
  const token = await cloudToken(scene, directory, credential, 200)
  await visit('GET', groupUrl(directory, 'web'), { expect: 200, token })
  await visit('GET', groupUrl(directory, 'data'), { expect: 403, token })
  return credential
}

/** The operator revokes the credential, and the cloud keeps no trace of it. */
export async function cloudRevocation(
  scene: Scene,
  directory: Directory,
  credential: Credential,
): Promise<void> {
  const { chapter, aside, step, root } = scene
  chapter('Somebody misuses that credential. The operator asks who got it, and revokes it')
  await step(root, 'GET', `cloud/whois/${credential.clientId}`, { expect: 200, show: ({ data }) => data })
  await step(root, 'POST', 'sys/leases/revoke', { expect: 204, body: { lease_id: credential.leaseId } })
  directory.advance(slowToAgree.delaySeconds.removedSecretToToken)
  aside('A minute passes at the cloud, until the removal has reached all of it.')
  await cloudToken(scene, directory, credential, 400)
  await step(root, 'GET', 'cloud/debris', { expect: 200, show: ({ data }) => data })
  const left = directory.debris()
  if (left.length > 0) throw new Error(`left in the directory: ${JSON.stringify(left)}`)
  aside('The directory keeps no trace of it either.')
}

/** Requests an access token from the cloud, as a program of the job would. Empty if refusal is expected. */
async function cloudToken(
  { visit }: Scene,
  directory: Directory,
  { clientId, clientSecret }: Credential,
  expect: number,
): Promise<string> {
  const form = {
    grant_type: 'client_credentials',
    client_id: clientId,
    client_secret: clientSecret,
    scope: `${directory.resourceManagerUrl}/.default`,
  }
  const answer = await visit('POST', `${directory.authorityUrl}/${directory.tenantId}/oauth2/v2.0/token`, {
    expect,
    form,
  })
  return expect === 200 ? textIn(answer, 'access_token') : ''
}

const groupUrl = (directory: Directory, name: string) =>
  `${directory.resourceManagerUrl}${groupIn(directory, name)}?api-version=2021-04-01`
