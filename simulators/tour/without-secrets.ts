import { decodeJwt } from 'jose'
import type { Directory } from '../directory/directory.ts'
import type { Sender } from '../narration.ts'
import { textIn } from '../operator.ts'
import type { Scene } from './scene.ts'

const mount = 'azure'

/** A job gets an access token, although no secret is in its settings, in Gatehouse's or in the directory. */
export async function tokenWithoutSecret(scene: Scene, job: Sender, directory: Directory): Promise<void> {
  const { chapter, aside, step, visit, root } = scene
  chapter('No secret anywhere: the operator mounts an engine that knows its tenant, but no credential')
  await step(root, 'POST', `sys/mounts/${mount}`, { expect: 204, body: { type: 'azure' } })
  const { subscriptionId: subscription_id, tenantId: tenant_id } = directory
  await step(root, 'POST', `${mount}/config`, { expect: 204, body: { subscription_id, tenant_id } })

  chapter('An application of the directory trusts the identity tokens of one role of this mount')
  const { accessor } = readData(
    await step(root, 'GET', `sys/mounts/${mount}`, { expect: 200, show: accessorOf }),
  )
  const subject = `plugin-identity:root:secret:${String(accessor)}:role:deploy`
  const { issuer } = readBody(
    await visit('GET', `${root.url}/v1/identity/oidc/plugins/.well-known/openid-configuration`, {
      expect: 200,
    }),
  )
  const { id, appId } = directory.admin.addApplication({ displayName: 'deploy' })
  directory.admin.addTrust(id, { issuer: String(issuer), subject })
  aside(`An administrator has made the application ${appId} trust ${subject}.`)
  const role = { credential_type: 'federated', federated_client_id: appId }
  await step(root, 'POST', `${mount}/roles/deploy`, { expect: 204, body: role })

  chapter('The job, which logged in with the JWT of its platform, gets an access token that ends by itself')
  const policy = `path "${mount}/token/deploy" { capabilities = ["update"] }`
  await step(root, 'PUT', 'sys/policies/acl/deploy', { expect: 204, body: { policy } })
  const body = { scope: `${directory.resourceManagerUrl}/.default` }
  const made = await step(job, 'POST', `${mount}/token/deploy`, { expect: 200, body })
  const { appid, exp = 0, iat = 0 } = decodeJwt(textIn(made, 'data', 'access_token'))
  aside(`The token is one of ${String(appid)}, and valid for ${exp - iat} s.`)
  if (appid !== appId) throw new Error(`the token is one of ${String(appid)}`)
}

/** An application reads its password from a static role, and keeps working while that is rotated. */
export async function rotatedPassword(scene: Scene, directory: Directory): Promise<void> {
  const { chapter, aside, step, visit, root } = scene
  chapter('An application that needs a password reads it from a static role')
  const { id, appId } = directory.admin.addApplication({ displayName: 'billing' })
  directory.admin.addOwner(id, directory.rootServicePrincipalId)
  // the cloud's replicas agree at once, so that the tour does not wait for them
  directory.change({ delaySeconds: { secretToToken: 0 } })
  const role = { application_object_id: id, rotation_period: '24h', rotation_grace_period: '1h' }
  await step(root, 'POST', 'cloud/static-roles/billing', { expect: 204, body: role })
  const read = async () =>
    textIn(await step(root, 'GET', 'cloud/static-creds/billing', { expect: 200 }), 'data', 'client_secret')
  const signIn = (client_secret: string) =>
    visit('POST', `${directory.authorityUrl}/${directory.tenantId}/oauth2/v2.0/token`, {
      expect: 200,
      form: {
        grant_type: 'client_credentials',
        client_id: appId,
        client_secret,
        scope: `${directory.resourceManagerUrl}/.default`,
      },
    })
  const former = await read()
  await signIn(former)

  chapter('Its password is rotated. The former one works until the application has read the new one')
  await step(root, 'POST', 'cloud/rotate-role/billing', { expect: 204 })
  await signIn(former)
  const current = await read()
  if (current === former) throw new Error('the password was not rotated')
  await signIn(current)
  aside('At no time was there an outage.')
}

type Body = Readonly<Record<string, unknown>>

const readBody = ({ body = {} }: { readonly body: Body | undefined }): Body => body

function readData(answer: { readonly body: Body | undefined }): Body {
  const { data } = readBody(answer)
  return typeof data === 'object' && data !== null ? { ...data } : {}
}

const accessorOf = (body: Body) => ({ accessor: readData({ body })['accessor'] })
