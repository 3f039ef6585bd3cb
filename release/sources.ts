import { readFileSync, statSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Where a bundle states what it was made from. */
export const sourcesFile = 'sources.json'

/** The programs of a bundle, and size and time of each file that it was made from. */
type BundleState = {
  readonly programs: Readonly<Record<string, string>>
  readonly sources: Readonly<Record<string, string>>
}

/** The packages as npm installed them, and how bundles are made. */
const otherSources = [
  'node_modules/.package-lock.json',
  ...[
    'builtins',
    'bundle',
    'executable',
    'locations',
    'node-binaries',
    'platforms',
    'sources',
    'unused',
    'when-called',
  ].map((name) => `release/${name}.ts`),
]

/** `startedAt`: files that changed since then count as changed. */
export function stateOf(
  programs: BundleState['programs'],
  modules: readonly string[],
  startedAt: number,
): BundleState {
  const files = modules.filter((file) => isAbsolute(file) && !file.includes('/node_modules/'))
  const others = otherSources.map((file) => join(root, file))
  const sources = [...files, ...others].map((file) => [file, markOf(file, startedAt)])
  return { programs, sources: Object.fromEntries(sources) }
}

/** Whether the folder has a bundle of these programs that was made from the files as they are now. */
export function isCurrent(folder: string, programs: BundleState['programs']): boolean {
  const state = readState(folder)
  return (
    state !== undefined &&
    JSON.stringify(state.programs) === JSON.stringify(programs) &&
    Object.entries(state.sources).every(([file, mark]) => markOf(file) === mark)
  )
}

function readState(folder: string): BundleState | undefined {
  try {
    // only `bundle` writes it, in one step
    return JSON.parse(readFileSync(join(folder, sourcesFile), 'utf8')) as BundleState
  } catch {
    return undefined
  }
}

function markOf(file: string, before = Number.POSITIVE_INFINITY): string {
  const found = statSync(file, { throwIfNoEntry: false })
  if (found === undefined) return 'missing'
  return found.mtimeMs < before ? `${found.size} ${found.mtimeMs}` : 'changed'
}
