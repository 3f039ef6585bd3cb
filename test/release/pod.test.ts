import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, chown, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { stringify } from 'yaml'
import {
  confinement,
  confinementOf,
  folderOf,
  imageRoot,
  imageUser,
  lacksRuntime,
  type Root,
  rootFor,
  started,
} from '../deploy/container.ts'
import { imageSettings, manifestsIn, texts } from '../deploy/deployed.ts'
import { command, entrypoint, program } from '../deploy/image.ts'
import { lacksNamespaces } from '../deploy/machine.ts'
import { running } from '../deploy/running.ts'
import { helm, missing, outcomeOf } from '../deploy/tools.ts'
import { executable } from '../support/executable.ts'
import { newDatabase } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

const chart = join(import.meta.dirname, '../../deploy/helm/gatehouse')
const [age, ageKeygen] = ['/usr/bin/age', '/usr/bin/age-keygen'] as const
const lacks = lacksNamespaces ?? lacksRuntime ?? missing(helm) ?? missing(age)

describe.skipIf(lacks !== undefined)(
  'in a container without rights, with a root that cannot be written',
  () => {
    let folder: Awaited<ReturnType<typeof temporaryFolder>>
    let image: Root
    beforeAll(async () => {
      folder = await temporaryFolder()
      image = await imageRoot(folder.path, await executable())
    }, 600_000)
    afterAll(() => folder[Symbol.asyncDispose]())

    /** Starts the pod of the chart. `secrets`: what Kubernetes mounts, by the names of volumes. */
    async function startedPod(
      name: string,
      root: Root,
      secrets: Readonly<Record<string, string>>,
      {
        replica = `${name}-0`,
        meanwhile,
      }: { replica?: string; meanwhile?: (pid: string) => Promise<void> } = {},
    ) {
      await writeFile(folder.file(`${name}.yaml`), stringify(values[name]))
      const rendered = await outcomeOf(helm, [
        ...['template', name, chart, '--kube-version', '1.37.0', '--values', folder.file(`${name}.yaml`)],
      ])
      const manifests = manifestsIn(rendered.stdout)
      const of = (kind: string) => manifests.find((one) => String(one['kind']) === kind)?.['spec']
      const pod = (of('StatefulSet') ?? of('Deployment'))?.['template']?.['spec']
      const [container] = [...(pod?.['containers'] ?? [])]
      const { runAsUser: user } = texts(pod?.['securityContext'])
      const mounts = [...(container?.['volumeMounts'] ?? [])].map(async ({ name: volume, mountPath }) => {
        const secret = secrets[String(volume)]
        return {
          destination: String(mountPath),
          source: secret ?? (await volumeOf(Number(user), folder.file(`${replica}-${String(volume)}`))),
          options: secret === undefined ? [] : ['ro'],
        }
      })
      const configMap = manifests.find((one) => String(one['kind']) === 'ConfigMap')?.['data']
      const server = await started(folder.path, {
        root: root.root,
        args: [...entrypoint, ...command],
        environment: { ...imageSettings, ...texts(configMap), GATEHOUSE_REPLICA_NAME: replica },
        user: Number(user),
        mounts: [...root.mounts, ...(await Promise.all(mounts))],
      })
      await meanwhile?.(server.pid)
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

    test('two pods of the chart share PostgreSQL: one has the store that the other made, and serves alone', {
      timeout: 180_000,
    }, async () => {
      await using opened = new AsyncDisposableStack()
      const { port, pathname } = new URL(await newDatabase())
      // reaches into the network of a pod, where the database has the address that the values name
      const database = createServer((client) =>
        client
          .pipe(connect(Number(port)))
          .pipe(client)
          .on('error', () => {}),
      )
      await once(database.listen(folder.file('postgres')), 'listening')
      opened.defer(() => void database.close())
      const meanwhile = async (pid: string) => {
        const forwards = `require('net').createServer((c) => c.pipe(require('net').connect('${folder.file('postgres')}')).pipe(c))
          .listen(5432, '127.0.0.1', () => console.log('forwards'))`
        const inside = ['--target', pid, '--net', process.execPath, '-e', forwards]
        await opened.use(running('nsenter', inside, { cwd: folder.path, env: {} })).prints('forwards')
      }
      values['shared'] = {
        drainDelaySeconds: 0,
        storage: {
          kind: 'postgres',
          postgres: { url: `postgres://gatehouse@127.0.0.1${pathname}?sslmode=disable` },
        },
      }
      const built = await executable()
      const key = await secretOf('shared', 'seal.key', (path) => outcomeOf(built, ['seal-key', path]))
      const pod = async (replica: string) => {
        const started = await startedPod('shared', image, { 'seal-key': key }, { replica, meanwhile })
        opened.use(started.server)
        return started
      }

      const [one, two] = [await pod('shared-one'), await pod('shared-two')]
      const init = await one.server.exec(program, 'init')
      const token = /^Root token: (\S+)$/m.exec(init.output)?.[1] ?? ''
      await expect.poll(() => two.probe('readinessProbe'), { timeout: 30_000 }).toBe('200')
      const call = (more: string) =>
        `curl -sS -f --header 'X-Vault-Token: ${token}' http://127.0.0.1:8200/v1/cubbyhole/a ${more}`
      const written = await one.server.beside(call(`--data '{"b":"c"}'`))
      const code = await one.server.stop()
      const read = await two.server.beside(call(''))

      expect([written.code, code]).toEqual([0, 0])
      expect(JSON.parse(read.stdout)).toMatchObject({ data: { b: 'c' } })
      expect(await two.server.stop()).toBe(0)
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
