import { existsSync } from 'node:fs'
import { chmod, chown, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import {
  folderOf,
  imageRoot,
  imageUser,
  lacksRuntime,
  type Mount,
  type Root,
  type RunningContainer,
  rootFor,
  started,
} from '../deploy/container.ts'
import { imageSettings, manifestsIn, type Part, texts } from '../deploy/deployed.ts'
import { command, entrypoint, healthCheck, program } from '../deploy/image.ts'
import { lacksNamespaces } from '../deploy/machine.ts'
import { compose, helm, missing, outcomeOf } from '../deploy/tools.ts'
import { executable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')
const chart = join(project, 'deploy/helm/gatehouse')
const [caddy, age, ageKeygen] = ['/usr/bin/caddy', '/usr/bin/age', '/usr/bin/age-keygen'] as const
const lacks =
  lacksNamespaces ?? lacksRuntime ?? missing(compose) ?? missing(helm) ?? missing(caddy) ?? missing(age)

const retried = 'curl -sS -f --retry 60 --retry-all-errors --retry-delay 1'

describe.skipIf(lacks !== undefined)(
  'in containers without rights, with a root that cannot be written',
  () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let image: Root
    beforeAll(async () => {
      folder = await temporaryFolder()
      image = await imageRoot(folder.path, await executable())
    }, 600_000)
    afterAll(() => folder[Symbol.asyncDispose]())

    /** What a service of Compose may write or read. Volumes have the owner of the folder that they cover. */
    async function mountsOf(name: string, service: Part, owner: number): Promise<Mount[]> {
      const volumes = [...(service['volumes'] ?? [])].map(async ({ type, source, target }) => ({
        destination: String(target),
        source:
          String(type) === 'bind'
            ? String(source)
            : await folderOf(owner, folder.file(`${name}-${String(source)}`)),
      }))
      const inMemory = [...(service['tmpfs'] ?? [])].map((one) => {
        const [destination = '', options = ''] = String(one).split(':')
        return { destination, options: options.split(',') }
      })
      return [...(await Promise.all(volumes)), ...inMemory]
    }

    test('the files of Compose run the server behind the proxy, which alone reaches it, with TLS', {
      timeout: 180_000,
    }, async () => {
      const files = ['docker-compose.yml', 'deploy/compose/tls.yml']
      const { stdout } = await outcomeOf(compose, ['-format', 'json', ...files], { cwd: project })
      const services = (JSON.parse(stdout) as Part)['services']
      const [service, proxyService] = [services?.['gatehouse'] ?? {}, services?.['proxy'] ?? {}] as [
        Part,
        Part,
      ]
      await writeFile(folder.file('hosts'), '127.0.0.1 localhost\n172.30.83.3 gatehouse\n')
      await using server = await started(folder.path, {
        root: image.root,
        args: [...entrypoint, ...command],
        environment: { ...imageSettings, ...texts(service['environment']) },
        user: imageUser,
        mounts: [...image.mounts, ...(await mountsOf('server', service, imageUser))],
      })
      const proxyRoot = await rootFor(caddy, { at: caddy, root: folder.file('proxy') })
      await using proxy = await started(folder.path, {
        root: proxyRoot.root,
        // as the image of Caddy starts it
        args: [caddy, 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
        environment: {
          XDG_CONFIG_HOME: '/config',
          XDG_DATA_HOME: '/data',
          ...texts(proxyService['environment']),
        },
        user: 0,
        capabilities: [...(proxyService['cap_add'] ?? [])].map((name) => `CAP_${String(name)}`),
        mounts: [
          ...proxyRoot.mounts,
          ...(await mountsOf('proxy', proxyService, 0)),
          { destination: '/etc/hosts', source: folder.file('hosts') },
        ],
      })
      await connect(server, proxy)
      await server.prints('"event":"started"')
      const authority = folder.file('proxy-certificates/caddy/pki/authorities/local/root.crt')
      const https = `${retried} --cacert ${authority} --header "X-Forwarded-For: 198.51.100.9"`

      const healthy = await proxy.beside(`${https} https://localhost/v1/sys/health`)
      const page = await proxy.beside(
        `${https} --output /dev/null --write-out '%{http_code}' https://localhost/ui/`,
      )
      const plain = await proxy.beside(
        `curl -sS --output /dev/null --write-out '%{http_code} %{redirect_url}' http://localhost/ui/`,
      )
      const { output } = await server.exec(program, 'root-token')
      const device = '{"type":"file","options":{"file_path":"/data/audit/log"}}'
      const asRoot = `${https} --header "X-Vault-Token: ${/^Root token: (\S+)$/m.exec(output)?.[1]}"`
      const audited = await proxy.beside(`
      ${asRoot} --data '${device}' https://localhost/v1/sys/audit/file
      ${asRoot} https://localhost/v1/auth/token/lookup-self`)
      const entries = await readFile(folder.file('server-data/audit/log'), 'utf8')
      const around = await server.beside('curl -sS http://172.30.83.3:8200/v1/sys/seal-status')
      const probed = await server.exec(...healthCheck)
      const confined = await confinementOf(server)
      const code = await server.stop()

      expect(
        [service, proxyService].map((one) => [one['read_only'], one['cap_drop'], one['security_opt']]),
      ).toEqual(Array(2).fill([true, ['ALL'], ['no-new-privileges:true']]))
      expect([service['ulimits']?.['core'], confined]).toEqual([0, confinement])
      expect(JSON.parse(healthy.stdout)).toMatchObject({ initialized: true, sealed: false })
      expect([page.stdout, plain.stdout]).toEqual(['200', '308 https://localhost/ui/'])
      expect(audited.code).toBe(0)
      // the client's address, as the proxy sees it, and not the one that the client claims
      expect([...entries.matchAll(/"remote_address":"([^"]+)"/g)].map(([, address]) => address)).toEqual(
        expect.arrayContaining(['127.0.0.1']),
      )
      expect(entries).not.toContain('198.51.100.9')
      expect(around.stdout).toContain('client address not authorized')
      expect([probed.output, code]).toEqual(['{"status":"ready"}\n', 0])
    })

    /** Starts the pod of the chart. `secrets`: what Kubernetes mounts, by the names of volumes. */
    async function startedPod(name: string, root: Root, secrets: Readonly<Record<string, string>>) {
      await writeFile(folder.file(`${name}.yaml`), stringify(values[name]))
      const rendered = await outcomeOf(helm, [
        ...['template', name, chart, '--kube-version', '1.37.0', '--values', folder.file(`${name}.yaml`)],
      ])
      const manifests = manifestsIn(rendered.stdout)
      const of = (kind: string) => manifests.find((one) => String(one['kind']) === kind)?.['spec']
      const pod = of('StatefulSet')?.['template']?.['spec']
      const [container] = [...(pod?.['containers'] ?? [])]
      const { runAsUser: user } = texts(pod?.['securityContext'])
      const mounts = [...(container?.['volumeMounts'] ?? [])].map(async ({ name: volume, mountPath }) => {
        const secret = secrets[String(volume)]
        return {
          destination: String(mountPath),
          source: secret ?? (await volumeOf(Number(user), folder.file(`${name}-${String(volume)}`))),
          options: secret === undefined ? [] : ['ro'],
        }
      })
      const configMap = manifests.find((one) => String(one['kind']) === 'ConfigMap')?.['data']
      const server = await started(folder.path, {
        root: root.root,
        args: [...entrypoint, ...command],
        environment: { ...imageSettings, ...texts(configMap), GATEHOUSE_REPLICA_NAME: `${name}-0` },
        user: Number(user),
        mounts: [...root.mounts, ...(await Promise.all(mounts))],
      })
      await server.prints('"event":"started"')
      const probe = async (which: string) => {
        const { path } = texts(container?.[which]?.['httpGet'])
        const asked = `curl -sS --output /dev/null --write-out '%{http_code}' http://127.0.0.1:9102${path}`
        return (await server.beside(asked)).stdout
      }
      return { server, probe }
    }

    /** A secret with one file, as Kubernetes gives it to the group of the pod. */
    async function secretOf(name: string, file: string, make: (path: string) => Promise<unknown>) {
      const secret = await folderOf(imageUser, folder.file(`secret-${name}`), 0o750)
      await make(join(secret, file))
      await chown(join(secret, file), 0, imageUser)
      await chmod(join(secret, file), 0o440)
      return secret
    }

    test('the pod of the chart starts, gets its store, answers its probes and ends in time', {
      timeout: 180_000,
    }, async () => {
      const built = await executable()
      const key = await secretOf('key', 'seal.key', (path) => outcomeOf(built, ['seal-key', path]))
      const { server, probe } = await startedPod('one', image, { 'seal-key': key })
      await using _ = server

      const before = [await probe('livenessProbe'), await probe('readinessProbe')]
      const init = await server.exec(program, 'init')
      const after = [await probe('startupProbe'), await probe('readinessProbe')]
      const confined = await confinementOf(server)
      const code = await server.stop()

      expect(before).toEqual(['200', '503'])
      expect(init.output).toMatch(/^Root token: \S+\n$/)
      expect(after).toEqual(['200', '200'])
      expect([confined, code]).toEqual([confinement, 0])
    })

    test('a pod whose key a command keeps opens its store again, and does not without the key of the command', {
      timeout: 180_000,
    }, async () => {
      const identity = await secretOf('age', 'identity', (path) => outcomeOf(ageKeygen, ['-o', path]))
      const { stdout } = await outcomeOf(ageKeygen, ['-y', join(identity, 'identity')])
      values['kms'] = {
        drainDelaySeconds: 0,
        seal: {
          kind: 'command',
          command: {
            wrap: `age -r ${stdout.trim()}`,
            unwrap: 'age -d -i /run/secrets/seal-command/identity',
            secretName: 'age',
          },
        },
      }
      // the base of an image with a shell and age
      const shell = await rootFor('/bin/sh', { at: '/bin/sh', root: image.root })
      const keeper = await rootFor(age, { at: age, root: image.root })
      const root = { ...image, mounts: [...image.mounts, ...shell.mounts, ...keeper.mounts] }
      const first = await startedPod('kms', root, { 'seal-command': identity })
      await using _ = first.server
      const init = await first.server.exec(program, 'init')
      await first.server.stop()

      const again = await startedPod('kms', root, { 'seal-command': identity })
      await using __ = again.server
      const ready = await again.probe('readinessProbe')
      const code = await again.server.stop()
      const without = await startedPod('kms', root, {}).catch(String)

      expect([init.code, ready, code]).toEqual([0, '200', 0])
      expect(without).toContain('GATEHOUSE_SEAL_UNWRAP_COMMAND ended with exit code 1')
    })
  },
)

/** Values of the chart by the name of a release. */
const values: Record<string, object> = { one: {} }

/** A volume of a pod, which outlives its containers. */
const volumeOf = async (user: number, path: string): Promise<string> =>
  existsSync(path) ? path : folderOf(user, path, 0o2770)

/** What the kernel says of a process that has no rights, gets none, and cannot write the root of its file system. */
const confinement = {
  user: String(imageUser),
  capabilities: ['CapPrm', 'CapEff', 'CapBnd', 'CapAmb'].map((set) => `${set}:\t${'0'.repeat(16)}`),
  gains: ['NoNewPrivs:\t1', 'Seccomp:\t2'],
  coreFiles: '0',
  root: 'ro',
}

async function confinementOf({ pid }: RunningContainer): Promise<typeof confinement> {
  const [status, limits, mounts] = await Promise.all(
    ['status', 'limits', 'mountinfo'].map((file) => readFile(`/proc/${pid}/${file}`, 'utf8')),
  )
  return {
    user: /^Uid:\t(\d+)/m.exec(status ?? '')?.[1] ?? '',
    capabilities: status?.match(/^Cap(?!Inh).*$/gm) ?? [],
    gains: status?.match(/^(?:NoNewPrivs|Seccomp):.*$/gm) ?? [],
    coreFiles: /^Max core file size +\S+ +(\S+)/m.exec(limits ?? '')?.[1] ?? '',
    root: / \/ (r[ow])/.exec(mounts ?? '')?.[1] ?? '',
  }
}

/** The network of deploy/compose/tls.yml: the address of the proxy is the one that the file gives it. */
async function connect(server: RunningContainer, proxy: RunningContainer): Promise<void> {
  const made = await server.beside(`
    ip link add proxied type veth peer name proxied netns ${proxy.pid}
    ip address add 172.30.83.3/24 dev proxied
    ip link set proxied up`)
  const joined = await proxy.beside('ip address add 172.30.83.2/24 dev proxied; ip link set proxied up')
  expect([made, joined]).toMatchObject([{ output: '' }, { output: '' }])
}
