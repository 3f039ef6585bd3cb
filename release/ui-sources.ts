import { readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')

/** Where the built web UI is. */
export const uiFolder = join(root, 'dist/ui')

/** What the web UI is built from, by name. Every start in a clone asks, so no pattern is compiled. */
export const uiSources = (): Readonly<Record<string, string>> =>
  Object.fromEntries(
    ['release/ui.ts', ...readdirSync(join(root, 'ui'), { recursive: true, encoding: 'utf8' }).map(inUi)]
      .filter((name) => /\.(?:tsx?|css|html|svg|json)$/.test(name))
      .toSorted()
      .map((name) => [name, join(root, name)]),
  )

const inUi = (name: string): string => join('ui', name)
