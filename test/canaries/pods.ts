import { expect } from 'vitest'
import { startCluster } from '../../simulators/cluster/cluster.ts'
import type { Client } from '../support/client.ts'
import type { Scene } from './scene.ts'

/** Logins of pods, accepted and refused, at a cluster that repeats in its answers what it was sent. */
export async function logInFromPods(scene: Scene, anonymous: Client): Promise<void> {
  await using cluster = await startCluster()
  const { root } = scene
  const send = async (path: string, body: object) => scene.note(path, await root.write(path, body))
  const tokenOf = async (what: string, name: string) => {
    const jwt = await cluster.token('dev', name)
    for (const [at, part] of jwt.split('.').slice(1).entries()) scene.secret(`part ${at} of ${what}`, part)
    return scene.secret(what, jwt)
  }
  await root.write('sys/auth/pods', { type: 'kubernetes' })
  const config = {
    kubernetes_host: cluster.url,
    kubernetes_ca_cert: cluster.caPem,
    token_reviewer_jwt: scene.secret('token of a reviewer', cluster.reviewer),
    disable_local_ca_jwt: true,
  }
  await send('auth/pods/config', config)
  await send('auth/pods/config', { ...config, pem_keys: 'none' })
  await send('auth/pods/role/web', {
    bound_service_account_names: 'web',
    bound_service_account_namespaces: 'dev',
    audience: cluster.issuer,
  })
  const logIn = async (jwt: string) =>
    scene.note('auth/pods/login', await anonymous.write('auth/pods/login', { role: 'web', jwt }))
  const [jwt, other] = [await tokenOf('token of a pod', 'web'), await tokenOf('token of another', 'job')]

  const { body } = await logIn(jwt)
  const renew = () => root.write('auth/token/renew', { token: body.auth?.['client_token'] })
  const renewed = await renew()
  await logIn(other)
  const message = `${cluster.reviewer} ${jwt}`
  cluster.misbehave({ kind: 'answer', answer: { status: 500, body: { kind: 'Status', message } } })
  const refused = [await logIn(jwt), scene.note('auth/token/renew', await renew())]
  await send('auth/pods/explain', { role: 'web', jwt })
  for (const path of ['failures', 'status', 'status?refresh=true'])
    scene.note(path, await root.read(`auth/pods/${path}`))

  expect(renewed.status).toBe(200)
  expect(refused.map(({ status }) => status)).toEqual([403, 403])
}
