import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { HTTPRoute } from '@kubernetes-models/gateway-api/gateway.networking.k8s.io/v1/HTTPRoute'
import { PrometheusRule } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/PrometheusRule'
import { ServiceMonitor } from '@kubernetes-models/prometheus-operator/monitoring.coreos.com/v1/ServiceMonitor'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { manifestsIn, namesIn, type Part, read, settingsOf, texts } from './deployed.ts'
import { helm, kubernetesValidate, missing, outcomeOf } from './tools.ts'

const chart = join(import.meta.dirname, '../../deploy/helm/gatehouse')

const postgres = {
  kind: 'postgres',
  postgres: {
    url: 'postgres://gatehouse@db.example.com/gatehouse',
    passwordSecret: { name: 'database' },
    caSecret: { name: 'database' },
  },
}
const runbook = 'https://wiki.example.com/gatehouse/runbook'
/** Values by the name of a release. */
const releases: Readonly<Record<string, object>> = {
  defaults: {},
  shared: {
    storage: postgres,
    replicas: 3,
    apiAddr: 'https://gate.example.com',
    trustedProxies: ['10.0.0.0/8', 'fd00::/8'],
    settings: { GATEHOUSE_LOG_LEVEL: 'debug', GATEHOUSE_WORKERS: '2' },
    seal: { previousKeySecret: { name: 'previous' } },
    audit: { secret: { name: 'audit' } },
    extraEnv: [
      { name: 'CLOUD_CLIENT_SECRET', valueFrom: { secretKeyRef: { name: 'cloud', key: 'secret' } } },
    ],
    imagePullSecrets: [{ name: 'registry' }],
    image: { digest: `sha256:${'0f'.repeat(32)}` },
    tolerations: [{ key: 'secrets', operator: 'Exists' }],
    nodeSelector: { pool: 'secrets' },
    podAnnotations: { note: 'one' },
    podLabels: { team: 'platform' },
    priorityClassName: 'system-cluster-critical',
    networkPolicy: {
      from: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
      extraEgress: [{ ports: [{ port: 8443 }], to: [{ ipBlock: { cidr: '10.1.0.0/16' } }] }],
    },
    metrics: {
      serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
      prometheusRule: { enabled: true, runbook, labels: { release: 'prometheus' } },
    },
    ingress: {
      enabled: true,
      className: 'nginx',
      host: 'gate.example.com',
      tlsSecretName: 'gate-tls',
      annotations: { 'nginx.ingress.kubernetes.io/proxy-body-size': '32m' },
    },
  },
  kms: {
    storage: postgres,
    seal: {
      kind: 'command',
      command: {
        wrap: 'age -r age1…',
        unwrap: 'age -d -i /run/secrets/seal-command/identity',
        secretName: 'age',
      },
    },
  },
  shares: {
    tls: { secretName: 'gate-tls' },
    seal: { kind: 'shamir' },
    audit: { stdout: false },
    networkPolicy: { enabled: false },
  },
  gateway: {
    storage: { kind: 'sqlite', sqlite: { size: '1Gi', storageClassName: 'fast' } },
    httpRoute: {
      enabled: true,
      hostnames: ['gate.example.com'],
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
    },
  },
}

const why = missing(helm) ?? missing(kubernetesValidate)

describe.skipIf(why !== undefined)('the chart', () => {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>
  const rendered: Record<string, readonly Part[]> = {}

  const valuesFile = async (name: string, values: object) => {
    await writeFile(folder.file(`${name}-values.yaml`), stringify(values))
    return folder.file(`${name}-values.yaml`)
  }
  const template = async (name: string, values: object) =>
    outcomeOf(helm, [
      ...['template', name, chart, '--kube-version', '1.37.0'],
      ...['--values', await valuesFile(name, values)],
    ])

  beforeAll(async () => {
    folder = await temporaryFolder()
    for (const [name, values] of Object.entries(releases)) {
      const { code, stdout, output } = await template(name, values)
      expect({ code, output: code === 0 ? '' : output }).toEqual({ code: 0, output: '' })
      await writeFile(folder.file(`${name}.yaml`), stdout)
      rendered[name] = manifestsIn(stdout)
    }
  })
  afterAll(() => folder[Symbol.asyncDispose]())

  const find = (release: string, kind: string, suffix = '') =>
    rendered[release]?.find(
      ({ kind: one, metadata }) =>
        String(one) === kind && String(metadata?.['name']) === `${release}-gatehouse${suffix}`,
    )
  const servers = (release: string) => find(release, 'Deployment') ?? find(release, 'StatefulSet')
  const pod = (release: string) => servers(release)?.['spec']?.['template']?.['spec']
  const container = (release: string) => pod(release)?.['containers']?.[0]
  const settings = (release: string) => {
    const { GATEHOUSE_AUDIT_FILE: secret, ...others } = texts(find(release, 'ConfigMap')?.['data'])
    // the server reads this file with the settings
    return settingsOf(secret === undefined ? others : { ...others, GATEHOUSE_AUDIT: '[]' })
  }

  test('has nothing that helm lint warns about', async () => {
    const { code, output } = await outcomeOf(helm, [
      ...['lint', '--strict', '--quiet', chart],
      ...['--kube-version', '1.37.0'],
    ])

    expect({ code, output }).toEqual({ code: 0, output: '' })
  })

  test('renders manifests that the schemas of Kubernetes accept, without unknown members', async () => {
    const files = Object.keys(releases).map((name) => folder.file(`${name}.yaml`))

    const { code, output } = await outcomeOf(kubernetesValidate, ['--strict', ...files])

    const unknown = output.split('\n').filter((line) => !line.startsWith('INFO') && line !== '')
    expect(code).toBe(0)
    // resources of operators: the next test checks them
    expect(unknown.toSorted()).toEqual(
      ['HTTPRoute', 'PrometheusRule', 'ServiceMonitor'].map((kind) =>
        expect.stringContaining(`Couldn't find schema for kind ${kind}`),
      ),
    )
  })

  test('renders resources of operators that their schemas accept', () => {
    const models = { HTTPRoute, PrometheusRule, ServiceMonitor }
    const checked = Object.values(rendered)
      .flat()
      .filter((one) => Object.hasOwn(models, String(one?.['kind'])))
    const broken = { spec: { selector: {}, endpoints: 'metrics' } } as never

    expect(checked.map(({ kind }) => String(kind)).toSorted()).toEqual(Object.keys(models))
    for (const one of checked) {
      const Model = models[String(one['kind']) as keyof typeof models]
      expect(() => new Model(one as never).validate()).not.toThrow()
    }
    expect(() => new ServiceMonitor(broken).validate()).toThrow('/endpoints must be array')
  })

  test.each(Object.keys(releases))('gives the server of release %s settings that it accepts', (name) => {
    const { storage, seal, replicaName, drainDelayMs, stopTimeoutMs, listen, auditDirs, autoInit } =
      settings(name)

    expect(storage.kind).toBe(['shared', 'kms'].includes(name) ? 'postgres' : 'sqlite')
    expect(seal).toBe({ shares: 'shamir', kms: 'command' }[name] ?? 'static')
    expect(listen).toEqual([{ host: '0.0.0.0', port: 8200 }])
    expect(auditDirs).toEqual(['/data/audit'])
    expect(autoInit).toBe(seal === 'shamir')
    expect(replicaName).not.toBe('')
    expect(Number(pod(name)?.['terminationGracePeriodSeconds']) * 1000).toBeGreaterThan(
      drainDelayMs + stopTimeoutMs,
    )
    expect(container(name)?.['env']).toContainEqual({
      name: 'GATEHOUSE_REPLICA_NAME',
      valueFrom: { fieldRef: { fieldPath: 'metadata.name' } },
    })
  })

  test.each(Object.keys(releases))('mounts every file that the settings of release %s name', (name) => {
    const volumes = [...(pod(name)?.['volumes'] ?? [])]
    const files = [...(container(name)?.['volumeMounts'] ?? [])].flatMap(({ name: volume, mountPath }) => {
      const of = volumes.find((one) => String(one['name']) === String(volume))
      const secrets = [of?.['secret'], ...(of?.['projected']?.['sources'] ?? []).map((one) => one['secret'])]
      return secrets.flatMap((one) =>
        [...(one?.['items'] ?? [])].map(({ path }) => `${String(mountPath)}/${String(path)}`),
      )
    })
    const named = Object.entries(texts(find(name, 'ConfigMap')?.['data']))
      .filter(([setting]) => setting.endsWith('_FILE') && setting !== 'GATEHOUSE_ROOT_TOKEN_FILE')
      .map(([, file]) => file)

    expect(files.toSorted()).toEqual(named.toSorted())
    expect(named.length).toBe({ defaults: 1, shared: 5, kms: 2, shares: 2, gateway: 1 }[name])
    const modes = volumes.flatMap(({ secret, projected }) => (secret ?? projected)?.['defaultMode'] ?? [])
    expect(new Set(modes.map(Number))).toEqual(new Set(modes.length === 0 ? [] : [0o440]))
    const inPod = [
      ...namesIn(pod(name)?.['volumes']),
      ...(servers(name)?.['spec']?.['volumeClaimTemplates'] ?? []).map(({ metadata }) =>
        String(metadata?.['name']),
      ),
    ]
    expect(inPod.toSorted()).toEqual(namesIn(container(name)?.['volumeMounts']).toSorted())
  })

  test.each(Object.keys(releases))('gives the pods of release %s no rights', (name) => {
    expect(pod(name)).toMatchObject({
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      securityContext: {
        runAsNonRoot: true,
        runAsUser: 65532,
        fsGroup: 65532,
        seccompProfile: { type: 'RuntimeDefault' },
      },
    })
    expect(container(name)?.['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    const probeOf = (probe: string) => container(name)?.[probe]?.['httpGet']
    expect(['startupProbe', 'livenessProbe', 'readinessProbe'].map(probeOf)).toEqual([
      { path: '/health/live', port: 'metrics' },
      { path: '/health/live', port: 'metrics' },
      { path: '/health/ready', port: 'metrics' },
    ])
  })

  test.each(Object.keys(releases))('selects the pods of release %s, and ports that they have', (name) => {
    const labels = texts(servers(name)?.['spec']?.['template']?.['metadata']?.['labels'])
    const ports = namesIn(container(name)?.['ports'])
    const services = rendered[name]?.filter(({ kind }) => String(kind) === 'Service') ?? []
    const selectors = [
      ...services.map(({ spec }) => spec?.['selector']),
      servers(name)?.['spec']?.['selector']?.['matchLabels'],
      find(name, 'NetworkPolicy')?.['spec']?.['podSelector']?.['matchLabels'],
      find(name, 'PodDisruptionBudget')?.['spec']?.['selector']?.['matchLabels'],
    ]

    for (const selector of selectors) expect(labels).toMatchObject(selector ?? {})
    expect(
      services.flatMap(({ spec }) => [...(spec?.['ports'] ?? [])].map((port) => String(port['targetPort']))),
    ).toEqual(ports)
    const allowed = [find(name, 'NetworkPolicy')?.['spec']?.['ingress'] ?? []].flat()
    expect(allowed.map(({ ports: open }) => String(open?.[0]?.['port']))).toEqual(
      name === 'shares' ? [] : ports,
    )
    expect(String(pod(name)?.['serviceAccountName'])).toBe(
      String(find(name, 'ServiceAccount')?.['metadata']?.['name']),
    )
  })

  test('has every alert of deploy/monitoring, for its own job and with links to the runbook', async () => {
    const [alerts] = manifestsIn(read('deploy/monitoring/alerts.yaml').replaceAll('runbook:#', `${runbook}#`))
    const { stdout } = await template('renamed', {
      nameOverride: 'gate',
      metrics: { serviceMonitor: { enabled: true }, prometheusRule: { enabled: true, runbook } },
    })

    expect(find('shared', 'PrometheusRule')?.['spec']).toEqual(alerts)
    expect(texts(find('shared', 'PrometheusRule')?.['metadata']?.['labels'])).toMatchObject({
      release: 'prometheus',
    })
    expect(stdout).toContain('up{job="gate"} == 0')
    expect(stdout).not.toContain('job="gatehouse"')
  })

  test('runs one server with a volume over SQLite, and without a disruption budget', () => {
    const spec = servers('gateway')?.['spec']

    expect(find('gateway', 'Deployment')).toBeUndefined()
    expect(find('gateway', 'PodDisruptionBudget')).toBeUndefined()
    expect(spec?.['replicas']).toBe(1)
    expect(String(spec?.['serviceName'])).toBe(
      String(find('gateway', 'Service', '-metrics')?.['metadata']?.['name']),
    )
    expect(spec?.['volumeClaimTemplates']?.[0]?.['spec']).toEqual({
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'fast',
      resources: { requests: { storage: '1Gi' } },
    })
  })

  test('runs as many servers as told over PostgreSQL, of which one is always there', () => {
    expect(servers('shared')?.['spec']).toMatchObject({
      replicas: 3,
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
    })
    expect(find('shared', 'PodDisruptionBudget')?.['spec']).toMatchObject({ minAvailable: 1 })
    expect(container('shared')).toMatchObject({
      image: `registry.example.com/gatehouse@sha256:${'0f'.repeat(32)}`,
    })
    expect(settings('shared').trustedProxies).toEqual(['10.0.0.0/8', 'fd00::/8'])
  })

  test('opens to the network only what the server needs', () => {
    const ports = (rule: Part | undefined) => [...(rule?.['ports'] ?? [])].map(({ port }) => port)
    const spec = find('shared', 'NetworkPolicy')?.['spec']
    const ingress = spec?.['ingress']

    expect(spec?.['policyTypes']).toEqual(['Ingress', 'Egress'])
    expect(ingress?.[0]?.['from']).toEqual([{ namespaceSelector: { matchLabels: { name: 'ingress' } } }])
    expect(ingress?.[1]?.['from']).toEqual([{ podSelector: {} }])
    expect([...(spec?.['egress'] ?? [])].map(ports)).toEqual([[53, 53], [443, 5432], [8443]])
    expect([...(find('defaults', 'NetworkPolicy')?.['spec']?.['egress'] ?? [])].map(ports)).toEqual([
      [53, 53],
      [443],
    ])
  })

  test('has a monitor of the metrics service, an ingress with TLS and a route of a gateway', () => {
    expect(find('shared', 'ServiceMonitor')?.['spec']).toEqual({
      selector: {
        matchLabels: {
          'app.kubernetes.io/name': 'gatehouse',
          'app.kubernetes.io/instance': 'shared',
          'app.kubernetes.io/component': 'metrics',
        },
      },
      jobLabel: 'app.kubernetes.io/name',
      endpoints: [{ port: 'metrics', path: '/metrics', interval: '15s' }],
    })
    expect(find('shared', 'Ingress')?.['spec']).toMatchObject({
      ingressClassName: 'nginx',
      tls: [{ hosts: ['gate.example.com'], secretName: 'gate-tls' }],
    })
    expect(find('gateway', 'HTTPRoute')?.['spec']).toEqual({
      parentRefs: [{ name: 'public', namespace: 'gateways', sectionName: 'https' }],
      hostnames: ['gate.example.com'],
      rules: [{ backendRefs: [{ name: 'gateway-gatehouse', port: 8200 }] }],
    })
  })

  test.each([
    { what: 'a secret among the settings', values: { settings: { GATEHOUSE_SEAL_KEY: 'x' } } },
    { what: 'a secret of the cloud among the settings', values: { settings: { CLOUD_CLIENT_SECRET: 'x' } } },
    { what: 'a setting that the chart makes', values: { settings: { GATEHOUSE_LISTEN: '[::]:8200' } } },
    { what: 'a setting that is no text', values: { settings: { GATEHOUSE_WORKERS: 2 } } },
    { what: 'an unknown value', values: { replica: 2 } },
    { what: 'PostgreSQL without an address', values: { storage: { kind: 'postgres' } } },
    {
      what: 'a password in the address of PostgreSQL',
      values: { storage: { ...postgres, postgres: { url: 'postgres://gatehouse:pass@db/gatehouse' } } },
    },
    { what: 'a static seal without a key', values: { seal: { keySecret: { name: '' } } } },
    { what: 'a seal of commands without any', values: { seal: { kind: 'command' } } },
    { what: 'an ingress without TLS', values: { ingress: { enabled: true, host: 'gate.example.com' } } },
    { what: 'alerts without a runbook', values: { metrics: { prometheusRule: { enabled: true } } } },
    { what: 'a route without a gateway', values: { httpRoute: { enabled: true } } },
  ])('refuses $what', async ({ values }) => {
    const { code, output } = await template('refused', values)

    expect(code).toBe(1)
    expect(output).toMatch(/values don't meet the specifications of the schema|the chart sets it/)
  })
})
