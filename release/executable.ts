import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, relative } from 'node:path'
import { promisify } from 'node:util'
import { type OutputChunk, type OutputOptions, type Plugin, rolldown } from 'rolldown'
import { builtins } from './builtins.ts'
import { shortText } from './bundle.ts'
import { locations } from './locations.ts'
import { nodeFor } from './node-binaries.ts'
import type { Platform } from './platforms.ts'
import { buildUi } from './ui.ts'
import { withoutUnused } from './unused.ts'
import { whenCalled } from './when-called.ts'

const root = join(import.meta.dirname, '..')

/** The API explorer reads its files. */
const explorer = '@fastify/swagger-ui'

/** What `bin/gatehouse` passes to Node. */
const nodeOptions = ['--disable-sigusr1', '--report-exclude-env', '--heap-growing-percent=80']

const program = 'release/executable/main.ts'

/** As names say that a file is a module, Node does not parse its text to find out. */
const modules = { format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' } as const
const main = 'main.mjs'

/** An executable: the platform it is for, and its path. */
export type Target = { readonly platform: Platform; readonly path: string }

/**
 * Builds the product as one file that needs no Node, for each target: the Node of its platform with the bundle,
 * the libraries of SQLite and bcrypt, the migrations, the web UI and the files of the API explorer. A start reads the
 * size of each of its files, so it has no others. The same sources give the same bytes. Resolves with the sources.
 */
export async function buildExecutables(targets: readonly Target[]): Promise<string[]> {
  const work = await mkdtemp(join(tmpdir(), 'gatehouse-release-'))
  try {
    const { assets, sources } = await assetsIn(work)
    for (const target of targets) await writeExecutable(work, target, assets)
    return [...sources, ...Object.values(assets).filter((file) => file.startsWith(root))]
  } finally {
    await rm(work, { recursive: true, force: true })
  }
}

/** Files by their names in the executable. */
type Assets = Readonly<Record<string, string>>

/** What is the same for every platform. Bundles are written to the folder. */
async function assetsIn(work: string): Promise<{ readonly assets: Assets; readonly sources: string[] }> {
  const sources: string[] = []
  const assets: Record<string, string> = {}
  const add = async (name: string, chunk: OutputChunk) => {
    assets[name] = join(work, name)
    sources.push(...chunk.moduleIds)
    await writeFile(assets[name], chunk.code)
  }
  const threads = new Set<string>()
  const inside = [...common, threadFiles(threads), locations((folder) => `./${relative(root, folder)}/`)]
  for (const chunk of await chunksOf(program, inside, modules)) await add(chunk.fileName, chunk)
  for (const thread of threads)
    for (const chunk of await chunksOf(thread, common, { format: 'cjs', codeSplitting: false }))
      await add(threadName(thread), chunk)
  await buildUi()
  const ui = globSync('dist/ui/**/*.{js,css,html,svg,json,br,gz}', {
    cwd: root,
    exclude: ['**/sources.json'],
  })
  const others = globSync(
    ['migrations/*/*.sql', `node_modules/${explorer}/{package.json,index.js,static/*.{css,js,png}}`],
    { cwd: root, exclude: ['**/static/swagger-ui.js'] },
  )
  for (const file of [...ui, ...others]) assets[file] = join(root, file)
  return { assets, sources }
}

async function writeExecutable(work: string, { platform, path }: Target, all: Assets): Promise<void> {
  const { [main]: _main, ...others } = all
  const library = join(root, 'node_modules/better-sqlite3/prebuilds', platform.library)
  const passwordLibrary = join(root, 'node_modules/bcrypt/prebuilds', platform.passwordLibrary)
  const assets = sorted({ ...others, 'better-sqlite3.node': library, 'bcrypt.node': passwordLibrary })
  const executable = await nodeFor(platform)
  const config = { ...seaOptions, main, executable, output: path, assets }
  await writeFile(join(work, 'sea.json'), JSON.stringify(config))
  // the executable names its main file as it is given here: with the folder, no two would be the same
  await run(process.execPath, ['--build-sea', 'sea.json'], { cwd: work })
  // without a signature, macOS ends the program at once
  if (process.platform === 'darwin' && platform.name.startsWith('darwin'))
    await run('codesign', ['--force', '--sign', '-', path])
}

const run = promisify(execFile)

const seaOptions = {
  mainFormat: 'module',
  useVfs: true,
  disableExperimentalSEAWarning: true,
  // node:ffi and the file system of the executable are experimental. No code cache: it would fit one platform only
  execArgv: [...nodeOptions, '--disable-warning=ExperimentalWarning'],
}

const sorted = (assets: Assets) =>
  Object.fromEntries(Object.entries(assets).toSorted(([a], [b]) => (a < b ? -1 : 1)))

/** The bundle of a program. */
async function chunksOf(entry: string, plugins: readonly Plugin[], options: OutputOptions) {
  await using build = await rolldown({
    cwd: root,
    input: { main: join(root, entry) },
    platform: 'node',
    external: [explorer, 'pg-native'],
    plugins: [...plugins],
  })
  const { output } = await build.generate({ ...options, ...shortText })
  return output.filter((file) => file.type === 'chunk')
}

const threadName = (file: string) => `thread-${basename(file, '.ts')}.js`

/** A thread sees no file of the executable: its code is one file, which release/executable/threads.ts reads. */
function threadFiles(threads: Set<string>): Plugin {
  return {
    name: 'threads',
    transform: (code, id) =>
      code.replaceAll(
        /(new Worker\(|program: )new URL\('(\.\/[^']+\.ts)'/g,
        (_, before: string, path: string) => {
          const file = join(dirname(id), path)
          threads.add(relative(root, file))
          return `${before}new URL('./${threadName(file)}'`
        },
      ),
  }
}

/** Packages find their libraries beside their code; here release/executable/main.ts says where they are. */
const givenLibraries: Plugin = {
  name: 'given-libraries',
  load: (id) => (id.endsWith('/better-sqlite3/lib/binding.js') ? sqliteBinding : null),
  transform: (code, id) =>
    id.endsWith('/bcrypt/bcrypt.js') ? code.replace(/^const bindings = .*$/m, bcryptBinding) : null,
}

const sqliteBinding = `let loaded
exports.getBinding = () => {
  if (loaded === undefined) process.dlopen((loaded = { exports: {} }), globalThis.gatehouseLibrary)
  return loaded.exports
}`
const bcryptBinding = `const library = { exports: {} }
process.dlopen(library, globalThis.gatehousePasswordLibrary())
const bindings = library.exports`

const common: readonly Plugin[] = [givenLibraries, builtins, withoutUnused, whenCalled]
