import { startCluster } from '../cluster/cluster.ts'
import { clientTokenOf } from '../operator.ts'
import type { Scene } from './scene.ts'
import { failedChecksOf } from './shown.ts'

/** Pods of a cluster log in with the tokens of their service accounts, which the cluster judges. */
export async function podLogins({ chapter, aside, step, root, stranger }: Scene): Promise<void> {
  await using cluster = await startCluster()
  chapter('A Kubernetes cluster has the namespaces dev and prod. The operator mounts a method for it')
  await step(root, 'POST', 'sys/auth/kubernetes', { expect: 204, body: { type: 'kubernetes' } })
  await step(root, 'POST', 'auth/kubernetes/config', {
    expect: 204,
    body: {
      kubernetes_host: cluster.url,
      kubernetes_ca_cert: cluster.caPem,
      token_reviewer_jwt: cluster.reviewer,
      disable_local_ca_jwt: true,
    },
  })
  await step(root, 'POST', 'auth/kubernetes/role/web', {
    expect: 204,
    body: {
      bound_service_account_names: 'web',
      bound_service_account_namespaces: 'prod',
      audience: 'gatehouse',
      token_ttl: '15m',
    },
  })
  const audiences = ['gatehouse']
  const [jwt, other] = [
    await cluster.token('prod', 'web', { audiences }),
    await cluster.token('dev', 'web', { audiences }),
  ]
  const logIn = (token: string, expect: number) =>
    step(stranger, 'POST', 'auth/kubernetes/login', { expect, body: { role: 'web', jwt: token } })

  chapter('A pod logs in with the token of its service account; one of another namespace is refused')
  const pod = { url: stranger.url, token: clientTokenOf(await logIn(jwt, 200)) }
  await logIn(other, 403)
  await step(pod, 'POST', 'auth/token/renew-self', { expect: 200, body: {} })

  chapter('The service account is deleted: its token is not renewed any more, and the server explains why')
  cluster.objects.deleteAccount('prod', 'web')
  aside('the account web of the namespace prod is deleted in the cluster')
  await step(pod, 'POST', 'auth/token/renew-self', { expect: 403, body: {} })
  await step(root, 'POST', 'auth/kubernetes/explain', {
    expect: 200,
    body: { role: 'web', jwt },
    show: ({ data }) => failedChecksOf(data),
  })
}
