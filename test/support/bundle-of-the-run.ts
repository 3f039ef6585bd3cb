import { bundle } from '../../release/bundle.ts'
import { buildUi } from '../../release/ui.ts'
import { bundleFolder, programs } from './bundled.ts'

let made: Promise<unknown> | undefined

/** All projects of a run share one bundle and one web UI. */
export async function setup(): Promise<void> {
  made ??= Promise.all([bundle({ folder: bundleFolder, programs }), buildUi()])
  await made
}
