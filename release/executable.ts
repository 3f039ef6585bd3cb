import { execFile } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type OutputOptions, type Plugin, rolldown } from 'rolldown'
import { builtins } from './builtins.ts'
import { licencesOnly } from './bundle.ts'
import { locations } from './locations.ts'
import { isCurrent, sourcesFile, stateOf } from './sources.ts'

const root = join(import.meta.dirname, '..')

/** Loaded from its own folder, because it has files that are not code. */
const wholePackage = '@fastify/swagger-ui'

/** What `bin/gatehouse` passes to Node. */
const nodeOptions = ['--expose-gc', '--disable-sigusr1', '--report-exclude-env']

const programs = { gatehouse: 'release/executable/main.ts' }

/**
 * Builds the product in this folder as one file that needs no Node: this Node with the bundle, the library of
 * SQLite, the migrations and the files of the API explorer. The same sources give the same bytes. Does nothing
 * if its sources are unchanged. Resolves with the path of the file.
 */
export async function buildExecutable(folder: string): Promise<string> {
  const output = join(folder, process.platform === 'win32' ? 'gatehouse.exe' : 'gatehouse')
  if (isCurrent(folder, programs)) return output
  const startedAt = Date.now()
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const sources = await writeExecutable(output)
  await writeFile(join(folder, sourcesFile), JSON.stringify(stateOf(programs, sources, startedAt)))
  return output
}

/** Resolves with the files it is made from. */
async function writeExecutable(output: string): Promise<string[]> {
  const sources: string[] = []
  const work = await mkdtemp(join(tmpdir(), 'gatehouse-release-'))
  try {
    const assets: Record<string, string> = {}
    const add = async (name: string, content: string) => {
      assets[name] = join(work, name)
      await writeFile(assets[name], content)
    }
    const threads = new Set<string>()
    const inside = [...common, threadFiles(threads), locations((folder) => `./${relative(root, folder)}/`)]
    for (const chunk of await chunksOf(programs.gatehouse, inside, { format: 'esm' })) {
      sources.push(...chunk.moduleIds)
      await add(chunk.fileName, chunk.code)
    }
    for (const thread of threads)
      for (const chunk of await chunksOf(thread, common, { format: 'cjs', codeSplitting: false })) {
        sources.push(...chunk.moduleIds)
        await add(threadName(thread), chunk.code)
      }
    for (const file of [...globSync('migrations/*/*.sql', { cwd: root }), ...filesOf(wholePackage)])
      assets[file] = join(root, file)
    assets['better-sqlite3.node'] = join(root, 'node_modules/better-sqlite3/prebuilds', libraryName)
    const { ['main.js']: _main, ...others } = assets
    const config = { ...seaOptions, main: 'main.js', output, assets: sorted(others) }
    await writeFile(join(work, 'sea.json'), JSON.stringify(config))
    // the executable names its main file as it is given here: with the folder, no two would be the same
    await promisify(execFile)(process.execPath, ['--build-sea', 'sea.json'], { cwd: work })
    return [...sources, ...Object.values(assets).filter((file) => file.startsWith(root))]
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

const libraryName = `${process.platform}-${process.arch}.node`

const seaOptions = {
  ...{ mainFormat: 'module', useVfs: true, disableExperimentalSEAWarning: true },
  // node:ffi and the file system of the executable are experimental
  execArgv: [...nodeOptions, '--disable-warning=ExperimentalWarning'],
}

const sorted = (assets: Record<string, string>) =>
  Object.fromEntries(Object.entries(assets).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** The bundle of a program. */
async function chunksOf(program: string, plugins: readonly Plugin[], options: OutputOptions) {
  await using build = await rolldown({
    input: { main: join(root, program) },
    platform: 'node',
    external: [wholePackage, 'pg-native'],
    plugins: [...plugins],
  })
  const { output } = await build.generate({ ...options, comments: licencesOnly })
  return output.filter((file) => file.type === 'chunk')
}

const threadName = (file: string) => `thread-${basename(file, '.ts')}.js`

/** A thread sees no file of the executable: its code is one file, which release/executable/threads.ts reads. */
function threadFiles(threads: Set<string>): Plugin {
  return {
    name: 'threads',
    transform: (code, id) =>
      code.replaceAll(/new Worker\(new URL\('(\.\/[^']+\.ts)'/g, (_, path: string) => {
        const file = join(dirname(id), path)
        threads.add(relative(root, file))
        return `new Worker(new URL('./${threadName(file)}'`
      }),
  }
}

/** better-sqlite3 finds its library beside its code; here release/executable/main.ts says where it is. */
const givenLibrary: Plugin = {
  name: 'given-library',
  load: (id) =>
    id.endsWith('/better-sqlite3/lib/binding.js')
      ? `let loaded
exports.getBinding = () => {
  if (loaded === undefined) process.dlopen((loaded = { exports: {} }), globalThis.gatehouseLibrary)
  return loaded.exports
}`
      : null,
}

const common: readonly Plugin[] = [givenLibrary, builtins]

/** The files of a package and of those it depends on. */
function filesOf(name: string, seen = new Set<string>()): string[] {
  if (seen.has(name)) return []
  seen.add(name)
  const folder = `node_modules/${name}`
  const { dependencies = {} } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')) as {
    dependencies?: Record<string, string>
  }
  const own = globSync(`${folder}/**/*.{js,cjs,mjs,json,html,css,png,svg}`, {
    cwd: root,
    exclude: (path) => /\/(?:test|e2e|examples|benchmarks?)$/.test(path),
  })
  return [...own, ...Object.keys(dependencies).flatMap((other) => filesOf(other, seen))]
}
