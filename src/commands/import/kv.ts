import { isDeepStrictEqual } from 'node:util'
import { eachOf } from './each.ts'
import { importKey } from './kv-versions.ts'
import { importMount, type MountEntry, mountsAt } from './mounts.ts'
import { isMountPath, isName, isPath, notAName } from './names.ts'
import { type Body, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { importOne, isLeftOut, likeness, noteOf, reporting, type Scope } from './scope.ts'

const atOnce = 16
const keysPerProgress = 1_000

const builtIn: ReadonlySet<string> = new Set([
  ...['cubbyhole', 'system', 'identity', 'ns_cubbyhole', 'ns_system', 'ns_identity', 'agent_registry'],
])
const kvTypes: ReadonlySet<string> = new Set(['kv', 'generic'])
/** Their configuration holds a secret that a server never shows. */
const cloudTypes: ReadonlySet<string> = new Set(['cloud', 'azure'])

export const versionOf = ({ options }: MountEntry) => (String(options?.['version'] ?? '1') === '2' ? 2 : 1)

export const isBuiltInEngine = (type: string): boolean => builtIn.has(type)
export const isKv = (type: string): boolean => kvTypes.has(type)

/** Imports `kv` mounts with their secrets. Other secrets engines are reported. */
export async function importKv(scope: Scope): Promise<void> {
  const { from, to, report, namespace } = scope
  const [theirs, ours] = await Promise.all([mountsAt(from, 'mounts'), mountsAt(to, 'mounts')])
  for (const [path, entry] of theirs) {
    const item = { kind: 'secrets_mount', namespace, path }
    if (isLeftOut(scope, path)) continue
    if (!isMountPath(path)) {
      report.failed(item, notAName)
      continue
    }
    if (isBuiltInEngine(entry.type) || !(await isEngineInUse(from, path, entry.type))) continue
    if (!isKv(entry.type)) {
      report.failed(item, `type ${entry.type} is not supported`)
      continue
    }
    const same = ours.get(path)
    if (same !== undefined && (!isKv(same.type) || versionOf(same) !== versionOf(entry))) {
      report.failed(item, `the target has type ${same.type} version ${versionOf(same)} here`)
      continue
    }
    const settings = `sys/mounts/${path.replace(/\/$/, '')}`
    const mount = { kind: 'secrets_mount', path, settings, theirs: entry, ours: same } as const
    if (!(await importMount(scope, mount))) continue
    await reporting(scope, 'secrets_mount', path, () => importSecrets(scope, path, versionOf(entry)))
  }
}

/** A new Gatehouse has such mounts, in which nothing is. */
export async function isEngineInUse(server: RemoteServer, mount: string, type: string): Promise<boolean> {
  if (!cloudTypes.has(type)) return true
  const { tenant_id: tenant = '' } = (await server.read(`${mount}config`)) ?? {}
  return tenant !== '' || (await server.list(`${mount}roles`)).length > 0
}

async function importSecrets(scope: Scope, mount: string, version: 1 | 2): Promise<void> {
  let done = 0
  let failed = 0
  const progress = () => {
    done += 1
    if (done % keysPerProgress === 0) scope.progress(`${mount}: ${done} keys`)
  }
  const top = version === 1 ? mount : `${mount}metadata/`
  await eachOf(keysBelow(scope.from, top), atOnce, async (key) => {
    const path = mount + key
    const succeeded = await reporting(scope, 'secret', path, async () => {
      if (!isPath(key)) throw new RefusedRequest(0, notAName)
      await (version === 2 ? importKey(scope, mount, key) : importSecret(scope, path))
    })
    if (!succeeded) failed += 1
    progress()
  })
  if (version === 2) await importConfig(scope, mount, failed)
}

/** The keys below a folder, in the order of their names. A folder that has no name is not looked into. */
export async function* keysBelow(server: RemoteServer, top: string): AsyncGenerator<string> {
  const folders = ['']
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const names = await server.list(top + folder)
    for (const name of names) if (!isFolder(name)) yield folder + name
    for (const name of names.toReversed()) if (isFolder(name)) folders.push(folder + name)
  }
}

const isFolder = (name: string) => name.endsWith('/') && isName(name.slice(0, -1))

const importSecret = (scope: Scope, path: string) =>
  importOne(scope, {
    kind: 'secret',
    path,
    exists: async () => {
      const [theirs, ours] = await Promise.all([scope.from.read(path), scope.to.read(path)])
      if (ours === undefined) return false
      return theirs === undefined || isDeepStrictEqual(theirs, ours) ? true : 'it differs'
    },
    write: async () => {
      const value = await scope.from.read(path)
      if (value === undefined) throw new RefusedRequest(404, 'the secret is gone')
      return noteOf((await scope.to.write(path, value)).warnings)
    },
  })

const configFields = ['max_versions', 'cas_required', 'metadata_cas_required', 'delete_version_after']
const noSettings = Object.fromEntries(configFields.map((name) => [name, null]))
const unset: ReadonlySet<unknown> = new Set([undefined, null, 0, false, '0s'])

const settingsOf = (config: Body = {}): Body =>
  Object.fromEntries(
    configFields.filter((name) => !unset.has(config[name])).map((name) => [name, config[name]]),
  )

/** After all keys: the limits of the mount would apply to what is written. */
async function importConfig(scope: Scope, mount: string, failedKeys: number): Promise<void> {
  const path = `${mount}config`
  const settings = settingsOf(await scope.from.read(path))
  if (Object.keys(settings).length === 0) return
  await importOne(scope, {
    kind: 'kv_config',
    path,
    exists: async () => {
      const ours = settingsOf(await scope.to.read(path))
      return Object.keys(ours).length === 0 ? false : likeness(settings, { ...noSettings, ...ours })
    },
    write: async () => {
      if (failedKeys > 0) throw new RefusedRequest(0, 'some of its secrets are not imported yet')
      return noteOf((await scope.to.write(path, settings)).warnings)
    },
  })
}
