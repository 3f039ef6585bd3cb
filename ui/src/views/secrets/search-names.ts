import { ifRefused } from '../../api/errors.ts'
import { namesIn } from './names-in.ts'
import type { SecretMount } from './paths.ts'

/** How far a search has come. */
export type SearchState = {
  readonly found: readonly string[]
  readonly folders: number
  readonly names: number
  /** Folders that the token may not list. */
  readonly refused: number
  /** `cut`: there may be more. */
  readonly end: 'none' | 'done' | 'cut'
}

export const nothingFound: SearchState = { found: [], folders: 0, names: 0, refused: 0, end: 'none' }

const mostFolders = 2_000
const mostFound = 500

/**
 * Looks for a part of a name in a folder and all below it, one folder after another, the nearest first. Ends after
 * so many folders or finds.
 */
export async function searchNames(
  place: { readonly mount: SecretMount; readonly folder: string },
  wanted: string,
  signal: AbortSignal,
  report: (state: SearchState) => void,
): Promise<void> {
  const waiting = [place.folder]
  const found: string[] = []
  const part = wanted.toLowerCase()
  let [folders, names, refused] = [0, 0, 0]
  const state = (end: SearchState['end']) => ({ found: [...found], folders, names, refused, end })
  for (let folder = waiting.shift(); folder !== undefined; folder = waiting.shift()) {
    if (folders === mostFolders || found.length >= mostFound) return report(state('cut'))
    const listed = await ifRefused(namesIn({ mount: place.mount, folder }, signal), null)
    folders += 1
    if (listed === null) refused += 1
    for (const name of listed ?? []) {
      names += 1
      if (name.toLowerCase().includes(part)) found.push(`${folder}${name}`)
      if (name.endsWith('/')) waiting.push(`${folder}${name}`)
    }
    report(state('none'))
  }
  report(state('done'))
}
