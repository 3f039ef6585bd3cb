import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { buildExecutables } from '../../release/executable.ts'
import { ownPlatform } from '../../release/platforms.ts'
import { isCurrent, sourcesFile, stateOf } from '../../release/sources.ts'

/** Kept between runs: it is built again when its sources have changed. */
const folder = fileURLToPath(new URL('../../node_modules/.cache/test-executable', import.meta.url))
const programs = { gatehouse: 'release/executable/main.ts' }
const file = `gatehouse${ownPlatform.suffix}`

/** The file that `npm run release` makes. Other processes that need it at the same time never see half of it. */
export async function executable(): Promise<string> {
  if (!isCurrent(folder, programs)) await build()
  return join(folder, file)
}

async function build(): Promise<void> {
  const startedAt = Date.now()
  const fresh = await mkdtemp(`${folder}-`)
  const sources = await buildExecutables([{ platform: ownPlatform, path: join(fresh, file) }])
  await writeFile(join(fresh, sourcesFile), JSON.stringify(stateOf(programs, sources, startedAt)))
  if (!isCurrent(folder, programs)) await rm(folder, { recursive: true, force: true })
  try {
    await rename(fresh, folder)
  } catch (error) {
    // another process was faster
    await rm(fresh, { recursive: true })
    if (!isCurrent(folder, programs)) throw error
  }
}
