import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { TarEntry } from '../tar.ts'

const run = promisify(execFile)

/** A processor that images are made for, as Debian and the executable name it. */
export type Processor = {
  readonly architecture: 'amd64' | 'arm64'
  /** Where the executable expects what loads it. */
  readonly loader: string
}

const packages = ['libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1']
const libraries = [
  ...['libc.so.6', 'libm.so.6', 'libdl.so.2', 'libpthread.so.0'],
  ...['libgcc_s.so.1', 'libstdc++.so.6', 'libatomic.so.1'],
]

/**
 * The parts of a system that the executable needs: the C and C++ libraries of the Debian release that this machine runs, with
 * their licences, and where scanners look for packages and their versions. apt fetches the packages from the
 * machine's own sources, for any processor and without rights, and checks their signatures.
 */
export async function librariesFor({ architecture, loader }: Processor, work: string): Promise<TarEntry[]> {
  const state = join(work, architecture)
  const [debs, root] = [join(state, 'debs'), join(state, 'root')]
  for (const folder of ['lists/partial', 'archives/partial', 'debs', 'root'])
    await mkdir(join(state, folder), { recursive: true })
  await writeFile(join(state, 'status'), '')
  const apt = (...args: string[]) =>
    run('apt-get', [...aptOptions(architecture, state), '-q', ...args], { cwd: debs })
  await apt('update')
  await apt('download', ...packages)
  const [support = ''] = await readdir(debs).then((files) =>
    files.filter((file) => file.startsWith('libgcc-s1_')),
  )
  const { stdout: depends } = await run('dpkg-deb', ['--field', join(debs, support), 'Depends'])
  // has the licences of the two others
  await apt('download', /gcc-\d+-base/.exec(depends)?.[0] ?? 'gcc-base')
  const entries: TarEntry[] = []
  const add = (path: string, content: Uint8Array, mode = 0o644) => entries.push({ path, content, mode })
  for (const file of await readdir(debs)) {
    const [name = ''] = file.split('_')
    await run('dpkg-deb', ['--extract', join(debs, file), root])
    const { stdout } = await run('dpkg-deb', ['--field', join(debs, file)])
    add(`var/lib/dpkg/status.d/${name}`, Buffer.from(stdout))
  }
  for (const file of globSync('usr/share/doc/{libc6,gcc-*-base}/copyright', { cwd: root }))
    add(file, readFileSync(join(root, file)))
  add(loader, read(root, loader.slice(loader.lastIndexOf('/') + 1)), 0o755)
  for (const name of libraries) add(`usr/lib/${name}`, read(root, name))
  return entries
}

function read(root: string, library: string): Buffer {
  const [file] = globSync(`{usr/,}lib/*/${library}`, { cwd: root })
  if (file === undefined) throw new Error(`no package has ${library}`)
  return readFileSync(join(root, file))
}

/** The machine's sources and keys, and nothing else of its state. */
const aptOptions = (architecture: string, state: string): string[] =>
  Object.entries({
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State::lists': join(state, 'lists'),
    'Dir::State::status': join(state, 'status'),
    'Dir::Cache::archives': join(state, 'archives'),
    'Dir::Cache::pkgcache': '',
    'Dir::Cache::srcpkgcache': '',
  }).flatMap(([name, value]) => ['-o', `${name}=${value}`])
