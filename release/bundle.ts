import { randomUUID } from 'node:crypto'
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { join, relative, resolve } from 'node:path'
import { type OutputOptions, rolldown } from 'rolldown'
import { builtins } from './builtins.ts'
import { locations } from './locations.ts'
import { isCurrent, sourcesFile, stateOf } from './sources.ts'
import { withoutUnused } from './unused.ts'
import { whenCalled } from './when-called.ts'

const root = join(import.meta.dirname, '..')

type BundleTask = {
  /** Where the bundle goes. */
  readonly folder: string
  /** The programs, as paths in the project, by their file names in the bundle without `.js`. */
  readonly programs: Readonly<Record<string, string>>
}

/** Packages with files that are not code: they are loaded from `node_modules`. */
const external = [/^better-sqlite3/, 'bcrypt', '@fastify/swagger-ui', 'pg-native']

/**
 * The engine keeps the text of the code, with two bytes for each character unless all are ASCII. So there are few comments,
 * and other characters are escaped.
 */
export const shortText = {
  comments: { legal: true, annotation: false, jsdoc: false },
  charset: 'ascii',
  plugins: [
    {
      name: 'ascii-comments',
      renderChunk: (code) =>
        code.replaceAll(/\/\*.*?\*\//gs, (comment) => comment.normalize('NFD').replaceAll(/\P{ASCII}/gu, '')),
    },
  ],
} as const satisfies OutputOptions

/** A running server may still load the parts of a bundle that has been replaced. */
const keepReplacedMs = 24 * 60 * 60 * 1000

/**
 * Bundles programs, with the packages they use, into few files, which are loaded when they are needed. Does
 * nothing if the folder has this bundle and its sources are unchanged.
 */
export async function bundle({ folder, programs }: BundleTask): Promise<void> {
  if (isCurrent(folder, programs)) return
  const startedAt = Date.now()
  await using build = await rolldown({
    cwd: root,
    input: Object.fromEntries(Object.entries(programs).map(([name, file]) => [name, resolve(root, file)])),
    platform: 'node',
    external,
    plugins: [builtins, withoutUnused, whenCalled, locations((path) => `${relative(folder, path)}/`)],
  })
  const { output } = await build.generate({ format: 'esm', ...shortText })
  const isProgram = (name: string) => Object.hasOwn(programs, name.replace(/\.js$/, ''))
  await mkdir(folder, { recursive: true })
  // programs last: what they name is there when they are
  for (const file of output.toSorted((a, b) => Number(isProgram(a.fileName)) - Number(isProgram(b.fileName))))
    await replaceFile(join(folder, file.fileName), file.type === 'chunk' ? file.code : file.source)
  const modules = output.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
  await replaceFile(join(folder, sourcesFile), JSON.stringify(stateOf(programs, modules, startedAt)))
  await removeReplaced(folder, new Set([sourcesFile, ...output.map((file) => file.fileName)]))
}

/** In one step, so that a program that starts meanwhile reads the old one or the new one. */
async function replaceFile(path: string, content: string | Uint8Array): Promise<void> {
  const temporary = `${path}.${randomUUID()}`
  await writeFile(temporary, content)
  await rename(temporary, path)
}

async function removeReplaced(folder: string, current: ReadonlySet<string>): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isFile() || current.has(entry.name)) continue
    const path = join(folder, entry.name)
    const { mtimeMs } = await stat(path)
    if (mtimeMs < Date.now() - keepReplacedMs) await rm(path, { force: true })
  }
}
