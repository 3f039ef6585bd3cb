import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  confinement,
  confinementOf,
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
import { imageSettings, type Part, texts } from '../deploy/deployed.ts'
import { command, entrypoint, healthCheck } from '../deploy/image.ts'
import { lacksNamespaces } from '../deploy/machine.ts'
import { running } from '../deploy/running.ts'
import { compose, missing, outcomeOf } from '../deploy/tools.ts'
import { openGuide } from '../pages/page.ts'
import { executable } from '../support/executable.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')
const [caddy, haproxy] = ['/usr/bin/caddy', '/usr/sbin/haproxy'] as const
const lacks = lacksNamespaces ?? lacksRuntime ?? missing(compose) ?? missing(caddy) ?? missing(haproxy)

const retried = 'curl -sS -f --retry 60 --retry-all-errors --retry-delay 1'

/** Answers for the names of a network of Compose, as Docker does. */
const nameServer = `
import socket, struct, sys
hosts = dict(pair.split('=') for pair in sys.argv[1:])
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(('127.0.0.11', 53))
while True:
    query, client = server.recvfrom(4096)
    end = query.index(0, 12)
    labels, at = [], 12
    while at < end:
        labels.append(query[at + 1:at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind = struct.unpack('!H', query[end + 1:end + 3])[0]
    address = hosts.get('.'.join(labels)) if kind == 1 else None
    count = 0 if address is None else 1
    answer = query[:2] + struct.pack('!HHHHH', 0x8180, 1, count, 0, 0) + query[12:end + 5]
    if address is not None:
        answer += struct.pack('!HHHIH', 0xC00C, 1, 1, 5, 4) + socket.inet_aton(address)
    server.sendto(answer, client)
`

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

    /** The services of files of Compose, as `docker compose config` shows them. */
    const servicesOf = async (...files: string[]) => {
      const { stdout } = await outcomeOf(compose, ['-format', 'json', ...files], { cwd: project })
      return (JSON.parse(stdout) as Part)['services']
    }

    async function startedServer(
      name: string,
      service: Part | undefined,
      settings = texts(service?.['environment']),
    ) {
      return await started(folder.path, {
        root: image.root,
        args: [...entrypoint, ...command],
        environment: { ...imageSettings, ...settings },
        user: imageUser,
        mounts: [...image.mounts, ...(await mountsOf(name, service, imageUser))],
      })
    }

    /** The files that a service of Compose may write or read. Volumes have the owner of the folder that they cover. */
    async function mountsOf(name: string, service: Part | undefined, owner: number): Promise<Mount[]> {
      const volumes = [...(service?.['volumes'] ?? [])].map(async ({ type, source, target }) => ({
        destination: String(target),
        source:
          String(type) === 'bind'
            ? String(source)
            : await folderOf(owner, folder.file(`${name}-${String(source)}`)),
      }))
      const inMemory = [...(service?.['tmpfs'] ?? [])].map((one) => {
        const [destination = '', options = ''] = String(one).split(':')
        return { destination, options: options.split(',') }
      })
      return [...(await Promise.all(volumes)), ...inMemory]
    }

    test('the files of Compose run the server behind the proxy, which alone reaches it, with TLS', {
      timeout: 180_000,
    }, async () => {
      const page = firstSteps()
      const services = await servicesOf(...page.files)
      const [service, proxyService] = [services?.['gatehouse'], services?.['proxy']]
      await writeFile(folder.file('hosts'), '127.0.0.1 localhost\n172.30.83.3 gatehouse\n')
      await using server = await startedServer('server', service)
      const proxyRoot = await rootFor(caddy, { at: caddy, root: folder.file('proxy') })
      await using proxy = await started(folder.path, {
        root: proxyRoot.root,
        // as the image of Caddy starts it
        args: [caddy, 'run', '--config', '/etc/caddy/Caddyfile', '--adapter', 'caddyfile'],
        environment: {
          XDG_CONFIG_HOME: '/config',
          XDG_DATA_HOME: '/data',
          ...texts(proxyService?.['environment']),
        },
        user: 0,
        capabilities: [...(proxyService?.['cap_add'] ?? [])].map((name) => `CAP_${String(name)}`),
        mounts: [
          ...proxyRoot.mounts,
          ...(await mountsOf('proxy', proxyService, 0)),
          { destination: '/etc/hosts', source: folder.file('hosts') },
        ],
      })
      await joinNetwork(proxy, '172.30.83.2', { '172.30.83.3': server })
      await server.prints('"event":"started"')
      const authority = folder.file(`proxy-certificates${page.authority}`)
      const https = `${retried} --cacert ${authority} --header "X-Forwarded-For: 198.51.100.9"`

      const healthy = await proxy.beside(`${https} ${page.url}`)
      const ui = await proxy.beside(
        `${https} --output /dev/null --write-out '%{http_code}' https://localhost/ui/`,
      )
      const plain = await proxy.beside(
        `curl -sS --output /dev/null --write-out '%{http_code} %{redirect_url}' http://localhost/ui/`,
      )
      const { output } = await server.exec(...page.rootToken)
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
        [service, proxyService].map((one) => [one?.['read_only'], one?.['cap_drop'], one?.['security_opt']]),
      ).toEqual(Array(2).fill([true, ['ALL'], ['no-new-privileges:true']]))
      expect([service?.['ulimits']?.['core'], confined]).toEqual([0, confinement])
      expect(JSON.parse(healthy.stdout)).toMatchObject({ initialized: true, sealed: false })
      expect([ui.stdout, plain.stdout]).toEqual(['200', '308 https://localhost/ui/'])
      expect(audited.code).toBe(0)
      // the client's address, as the proxy sees it, and not the one that the client claims
      expect([...entries.matchAll(/"remote_address":"([^"]+)"/g)].map(([, address]) => address)).toEqual(
        expect.arrayContaining(['127.0.0.1']),
      )
      expect(entries).not.toContain('198.51.100.9')
      expect(around.stdout).toContain('client address not authorized')
      expect([probed.output, code]).toEqual(['{"status":"ready"}\n', 0])
    })

    test('the balancer of Compose sends requests to both servers, and to one when the other is killed', {
      timeout: 180_000,
    }, async () => {
      // a store for each: what they share is not the balancer's affair, and their clusters tell them apart
      const alone = (service: Part | undefined) => {
        const { GATEHOUSE_STORAGE, GATEHOUSE_STORAGE_PASSWORD_FILE, GATEHOUSE_SEAL_KEY_FILE, ...others } =
          texts(service?.['environment'])
        return others
      }
      const services = await servicesOf('docker-compose.yml')
      const [first, second] = [services?.['replica-one'], services?.['replica-two']]
      await using one = await startedServer('one', first, alone(first))
      await using two = await startedServer('two', second, alone(second))
      const root = await rootFor(haproxy, { at: haproxy, root: folder.file('balancer') })
      await using balancer = await started(folder.path, {
        root: root.root,
        // as the image of HAProxy starts it, as its user, but with fewer connections: this machine may have few file descriptors
        args: [haproxy, '-W', '-db', '-n', '1000', '-f', '/usr/local/etc/haproxy/haproxy.cfg'],
        environment: {},
        user: 99,
        mounts: [...root.mounts, ...(await mountsOf('balancer', services?.['balancer'], 99))],
      })
      await joinNetwork(balancer, '172.30.82.2', { '172.30.82.3': one, '172.30.82.4': two })
      const hosts = ['replica-one=172.30.82.3', 'replica-two=172.30.82.4']
      await using _ = running(
        'nsenter',
        ['--target', balancer.pid, '--net', 'python3', '-c', nameServer, ...hosts],
        { cwd: folder.path, env: { PATH: process.env['PATH'] } },
      )
      await Promise.all([one, two].map((server) => server.prints('"event":"started"')))
      const clusters = async (calls: number) => {
        const call = 'curl -sS -f http://127.0.0.1:8200/v1/sys/health; echo'
        const { stdout } = await balancer.beside(`for call in $(seq ${calls}); do ${call}; done`)
        return stdout.match(/"cluster_id":"[^"]+"/g) ?? []
      }

      await expect.poll(async () => new Set(await clusters(2)).size, { timeout: 60_000 }).toBe(2)
      const before = await clusters(20)
      await two.stop('SIGKILL')
      const after = await clusters(20)

      expect([before.length, new Set(before).size]).toEqual([20, 2])
      expect([after.length, new Set(after).size]).toEqual([20, 1])
    })
  },
)

/** The commands of the page for a newcomer. `authority`: the file in the volume of the proxy's data. */
function firstSteps() {
  const text = openGuide('docs/deployment.md', {}).blocks('Compose').join('')
  const [, files = '', rootToken = '', authority = '', url = ''] =
    /COMPOSE_FILE=(\S+)\n.*exec gatehouse (.+)\n.*cp proxy:\/data(\S+) root\.crt\ncurl --cacert root\.crt (\S+)$/ms.exec(
      text.trim(),
    ) ?? []
  return { files: files.split(':'), rootToken: rootToken.split(' '), authority, url }
}

/** A network of Compose: the address of the proxy is the one that the file gives it. */
async function joinNetwork(
  proxy: RunningContainer,
  address: string,
  servers: Readonly<Record<string, RunningContainer>>,
): Promise<void> {
  const made = [
    await proxy.beside(
      `ip link add compose type bridge; ip address add ${address}/24 dev compose; ip link set compose up`,
    ),
  ]
  for (const [at, server] of Object.entries(servers)) {
    const link = `to${at.split('.').at(-1)}`
    made.push(
      await server.beside(`
        ip link add ${link} type veth peer name ${link} netns ${proxy.pid}
        ip address add ${at}/24 dev ${link}
        ip link set ${link} up`),
      await proxy.beside(`ip link set ${link} master compose; ip link set ${link} up`),
    )
  }
  expect(made.map(({ output }) => output).join('')).toBe('')
}
