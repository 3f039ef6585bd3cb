import { exportSPKI, generateKeyPair, SignJWT } from 'jose'
import type { Cluster } from '../../../simulators/cluster/cluster.ts'
import type { Directory } from '../../../simulators/directory/directory.ts'
import type { Recorder } from './recorder.ts'

type Parts = {
  readonly recorder: Recorder
  readonly rootToken: string
  readonly directory: Directory
  readonly cluster: Cluster
  /** A file that the server may write its audit log to. */
  readonly auditFile: string
}

/** What the driver of a client finds in its environment. */
export async function driverEnvironment({
  recorder,
  rootToken,
  directory,
  cluster,
  auditFile,
}: Parts): Promise<Record<string, string>> {
  const jwt = await cluster.token('dev', 'web')
  // a client that cannot name a reviewer lets the pod ask
  cluster.objects.rights.set(jwt, new Set(['review']))
  return {
    VAULT_ADDR: recorder.url,
    VAULT_TOKEN: rootToken,
    CONTROL_URL: recorder.controlUrl,
    ...(await pipelineJwt()),
    AZURE: JSON.stringify({
      subscription_id: directory.subscriptionId,
      tenant_id: directory.tenantId,
      client_id: directory.rootClientId,
      client_secret: directory.rootClientSecret,
    }),
    APPLICATION: JSON.stringify(application(directory)),
    CLUSTER: JSON.stringify({
      host: cluster.url,
      ca_cert: cluster.caPem,
      reviewer: cluster.reviewer,
      audience: cluster.issuer,
      jwt,
    }),
    ORDERS: directory.orders.appId,
    AZURE_SCOPE: `/subscriptions/${directory.subscriptionId}/resourceGroups/web`,
    AUDIT_FILE: auditFile,
  }
}

/** An application of somebody else, with a password of its own. */
function application({ admin }: Directory) {
  const { id, appId } = admin.addApplication({ displayName: 'billing' })
  return { id, appId, ...admin.addPassword(id, { lifetimeSeconds: 90 * 86_400 }) }
}

async function pipelineJwt(): Promise<{ JWT: string; JWT_KEY: string }> {
  const { publicKey, privateKey } = await generateKeyPair('RS256')
  const jwt = new SignJWT({ iss: 'https://ci.example.com', sub: 'build-7', aud: 'ci' })
    .setProtectedHeader({ alg: 'RS256' })
    .setIssuedAt()
    .setExpirationTime('1h')
  return { JWT: await jwt.sign(privateKey), JWT_KEY: await exportSPKI(publicKey) }
}
