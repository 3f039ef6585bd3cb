import { bundle } from '../../release/bundle.ts'
import { bundleFolder, programs } from './bundled.ts'

let made: Promise<void> | undefined

/** All projects of a run share one bundle. */
export function setup(): Promise<void> {
  made ??= bundle({ folder: bundleFolder, programs })
  return made
}
