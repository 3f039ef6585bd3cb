import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bundle } from '../../release/bundle.ts'
import { buildUi } from '../../release/ui.ts'
import { bundleFolder, programs } from './bundled.ts'

let made: Promise<unknown> | undefined

/** All projects of a run share one bundle and one web UI. */
export async function setup(): Promise<void> {
  made ??= Promise.all([makeBundle(), buildUi()])
  await made
}

async function makeBundle(): Promise<void> {
  await bundle({ folder: bundleFolder, programs })
  // otherwise each start looks through the code for what kind of modules these are
  await writeFile(join(bundleFolder, 'package.json'), '{ "type": "module" }\n')
}
