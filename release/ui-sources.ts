import { globSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Where the built web UI is. */
export const uiFolder = join(root, 'dist/ui')

/** What the web UI is built from, by name. */
export const uiSources = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ['release/ui.ts', ...globSync('ui/**/*.{ts,tsx,css,html,svg,json}', { cwd: root })]
      .toSorted()
      .map((name) => [name, join(root, name)]),
  )
