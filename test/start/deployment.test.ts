import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { imageSettings, manifestsIn, type Part, read, settingsOf, texts } from '../deploy/deployed.ts'

const compose = parse(read('docker-compose.yml'), { merge: true }) as Part
const manifests = ['gatehouse', 'postgres'].flatMap((name) =>
  manifestsIn(read(`deploy/kubernetes/${name}.yaml`)),
)
const manifest = (kind: string, name: string) =>
  manifests.find(({ kind: one, metadata }) => String(one) === kind && String(metadata?.['name']) === name) ??
  ({} as Part)

const secondsOf = (text: unknown) => Number.parseInt(String(text), 10)

test('the replicas of docker-compose.yml have settings that the server accepts, and names of their own', () => {
  const replicas = ['replica-one', 'replica-two'].map((name) => compose['services']?.[name])
  const settings = replicas.map((replica) => settingsOf(texts(replica?.['environment'])))

  expect(Object.keys(imageSettings)).toContain('GATEHOUSE_LISTEN')
  expect(settings.map(({ replicaName }) => replicaName)).toEqual(['one', 'two'])
  expect(settings.map(({ storage }) => storage.kind)).toEqual(['postgres', 'postgres'])
  for (const [at, replica] of replicas.entries())
    expect(secondsOf(replica?.['stop_grace_period']) * 1000).toBeGreaterThan(
      (settings[at]?.drainDelayMs ?? 0) + (settings[at]?.stopTimeoutMs ?? 0),
    )
})

test('services of docker-compose.yml name only services, volumes and networks that exist', () => {
  const services = Object.entries(compose['services'] ?? {})
  const named = (part: Part | undefined) => Object.keys(part ?? {})

  for (const [name, service] of services) {
    expect(named(compose['services']), name).toEqual(expect.arrayContaining(named(service['depends_on'])))
    const volumes = [...(service['volumes'] ?? [])].map((volume) => String(volume).split(':')[0] ?? '')
    expect(named(compose['volumes']), name).toEqual(
      expect.arrayContaining(volumes.filter((volume) => !volume.startsWith('.'))),
    )
  }
  const alone = services.filter(([, { profiles }]) => profiles === undefined).map(([name]) => name)
  expect(alone).toEqual(['gatehouse'])
})

test('the balancer of docker-compose.yml asks each replica whether it is ready, and its address is trusted', () => {
  const balancer = read('deploy/compose/haproxy.cfg')
  const replica = settingsOf(texts(compose['services']?.['replica-one']?.['environment']))
  const address = String(compose['services']?.['balancer']?.['networks']?.['replicas']?.['ipv4_address'])

  expect(balancer).toContain('option httpchk GET /health/ready')
  expect(balancer.match(/^ {4}server \w+ (\S+)$/gm)).toEqual([
    '    server one replica-one:8200',
    '    server two replica-two:8200',
  ])
  expect(replica.trustedProxies).toEqual([`${address}/32`])
})

test('the proxy of deploy/compose/tls.yml is the only way to the server, and its address is trusted', () => {
  const text = read('deploy/compose/tls.yml').replaceAll(`\${GATEHOUSE_HOST:-localhost}`, 'localhost')
  const override = parse(text, {
    // replaces what the first file says
    customTags: [{ tag: '!override', collection: 'seq', resolve: (items) => items }],
  }) as Part
  const [proxy, gatehouse] = ['proxy', 'gatehouse'].map((name) => override['services']?.[name])
  const settings = settingsOf(texts(gatehouse?.['environment']))
  const address = String(proxy?.['networks']?.['proxied']?.['ipv4_address'])

  expect(gatehouse?.['ports']).toEqual([])
  expect(settings).toMatchObject({ trustedProxies: [`${address}/32`], trustedProxyRequired: true })
  expect(read('deploy/compose/Caddyfile')).toMatch(
    /reverse_proxy gatehouse:8200 \{\n\s+health_uri \/health\/ready\n/,
  )
  expect(secondsOf(compose['services']?.['gatehouse']?.['stop_grace_period']) * 1000).toBeGreaterThan(
    settings.drainDelayMs + settings.stopTimeoutMs,
  )
})

const server = () => manifest('Deployment', 'gatehouse')['spec']?.['template']?.['spec']
const container = () => server()?.['containers']?.[0]

test('the Kubernetes deployment has settings that the server accepts, and time to end', () => {
  const settings = settingsOf(texts(manifest('ConfigMap', 'gatehouse')['data']))

  expect(settings.storage.kind).toBe('postgres')
  expect(Number(server()?.['terminationGracePeriodSeconds']) * 1000).toBeGreaterThan(
    settings.drainDelayMs + settings.stopTimeoutMs,
  )
  expect(container()?.['env']).toContainEqual({
    name: 'GATEHOUSE_REPLICA_NAME',
    valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
  })
})

test('the Kubernetes deployment probes the health of each server, and its root file system cannot be written', () => {
  const pathOf = (probe: string) => container()?.[probe]?.['httpGet']?.['path']

  expect(['startupProbe', 'livenessProbe', 'readinessProbe'].map(pathOf)).toEqual([
    '/health/live',
    '/health/live',
    '/health/ready',
  ])
  expect(container()?.['securityContext']).toEqual({
    allowPrivilegeEscalation: false,
    readOnlyRootFilesystem: true,
    capabilities: { drop: ['ALL'] },
  })
})

test('the seal key in Kubernetes is readable by the server only, in the folder that the settings name', () => {
  const volume = [...(server()?.['volumes'] ?? [])].find(({ name }) => String(name) === 'keys')
  const mount = [...(container()?.['volumeMounts'] ?? [])].find(({ name }) => String(name) === 'keys')
  const { sealKeyFile, storagePasswordFile } = settingsOf(texts(manifest('ConfigMap', 'gatehouse')['data']))

  expect(volume?.['secret']).toEqual({ secretName: 'gatehouse', defaultMode: 0o440 })
  expect([sealKeyFile, storagePasswordFile]).toEqual(['/keys/seal.key', '/keys/database-password'])
  expect(mount).toEqual({ name: 'keys', mountPath: '/keys', readOnly: true })
})

test('services, budget and volumes of the Kubernetes manifests belong to pods that exist', () => {
  const pods = manifests.flatMap(({ spec }) => (spec?.['template'] === undefined ? [] : [spec['template']]))
  const labels = pods.map((pod) => pod['metadata']?.['labels'])
  const selectors = manifests.flatMap(({ kind, spec }) => {
    if (String(kind) === 'Service') return [spec?.['selector']]
    return (spec?.['selector'] ?? spec?.['podSelector'])?.['matchLabels'] ?? []
  })

  expect(manifests.map(({ kind }) => String(kind))).toEqual([
    ...['ConfigMap', 'ServiceAccount', 'Deployment', 'Service', 'Service', 'PodDisruptionBudget'],
    ...['NetworkPolicy', 'StatefulSet', 'Service', 'NetworkPolicy'],
  ])
  for (const selector of selectors) expect(labels).toContainEqual(selector)
  for (const { spec } of manifests)
    for (const one of spec?.['template']?.['spec']?.['containers'] ?? []) {
      const inPod = [
        ...(spec?.['template']?.['spec']?.['volumes'] ?? []),
        ...(spec?.['volumeClaimTemplates'] ?? []).map(({ metadata }) => metadata),
      ].map((volume) => String(volume?.['name']))
      const mounted = [...(one['volumeMounts'] ?? [])].map(({ name }) => String(name))
      expect(inPod).toEqual(expect.arrayContaining(mounted))
    }
})
