import { dirname, join } from 'node:path'
import type { Plugin } from 'rolldown'

/**
 * Sources name files beside them: `new URL('./other.ts', import.meta.url)`, and folders. In a bundle, the first
 * is a program of its own, and `placeOf` says where the second is, seen from the bundle.
 */
export function locations(placeOf: (folder: string) => string): Plugin {
  return {
    name: 'locations',
    transform(code, id) {
      if (id.includes('/node_modules/') || !code.includes('new URL(')) return null
      return code
        .replaceAll(/new URL\('(\.\/[^']+\.ts)', import\.meta\.url\)/g, (_, path: string) => {
          const reference = this.emitFile({ type: 'chunk', id: join(dirname(id), path) })
          return `new URL(import.meta.ROLLUP_FILE_URL_${reference})`
        })
        .replaceAll(/new URL\('(\.\.\/[^']+\/)', import\.meta\.url\)/g, (_, path: string) => {
          return `new URL('${placeOf(join(dirname(id), path))}', import.meta.url)`
        })
    },
  }
}
