import { execFile } from 'node:child_process'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ownPlatform, type Platform } from './platforms.ts'

const root = join(import.meta.dirname, '..')

type LockFile = {
  readonly lockfileVersion: number
  readonly packages: Readonly<Record<string, { readonly version: string; readonly integrity: string }>>
}

/**
 * The path of a Node for a platform: on this one the Node that runs, for others the one that the lock file pins.
 * npm fetches it and checks its hash.
 */
export async function nodeFor(platform: Platform): Promise<string> {
  if (platform.name === ownPlatform.name) return process.execPath
  const { nodePackage, suffix } = platform
  const lock = await readLock(join(root, 'package-lock.json'))
  const place = `node_modules/${nodePackage}`
  const pinned = lock.packages[place]
  if (pinned === undefined) throw new Error(`package-lock.json does not have ${nodePackage}`)
  if (`v${pinned.version}` !== process.version)
    throw new Error(`only Node ${pinned.version} builds for other platforms, and this is ${process.version}`)
  const folder = join(root, 'node_modules/.cache/release-nodes', platform.name)
  const installed = await readLock(join(folder, 'node_modules/.package-lock.json')).catch(() => undefined)
  if (installed?.packages[place]?.integrity !== pinned.integrity) {
    // npm refuses packages of other platforms unless they are optional
    const project = { optionalDependencies: { [nodePackage]: pinned.version } }
    const locked = { lockfileVersion: lock.lockfileVersion, packages: { '': project, [place]: pinned } }
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, 'package.json'), JSON.stringify(project))
    await writeFile(join(folder, 'package-lock.json'), JSON.stringify(locked))
    const flags = ['--ignore-scripts', '--no-audit', '--no-fund', '--prefer-offline']
    await promisify(execFile)('npm', ['ci', ...flags, ...platform.npmOptions], { cwd: folder })
  }
  return join(folder, place, `bin/node${suffix}`)
}

/** Of the form that npm gives it. */
const readLock = async (file: string) => JSON.parse(await readFile(file, 'utf8')) as LockFile
