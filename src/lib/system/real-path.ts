import { realpathSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

/** Where a path leads through all links; what does not exist yet is taken as it is written. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    return placeOf(path)
  }
}

/** Where the last name of a path is: a link itself, not what it leads to. */
export function placeOf(path: string): string {
  const full = resolve(path)
  const above = dirname(full)
  return above === full ? full : join(realPathOf(above), basename(full))
}
