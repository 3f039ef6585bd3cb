import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { buildExecutables } from '../../release/executable.ts'
import { ownPlatform } from '../../release/platforms.ts'
import { isCurrent, sourcesFile, stateOf } from '../../release/sources.ts'

/** Kept between runs: it is built again when its sources have changed. */
const folder = join(import.meta.dirname, '../../node_modules/.cache/test-executable')
const programs = { gatehouse: 'release/executable/main.ts' }

/** The file that `npm run release` makes. */
export async function executable(): Promise<string> {
  const path = join(folder, `gatehouse${ownPlatform.suffix}`)
  if (isCurrent(folder, programs)) return path
  const startedAt = Date.now()
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true })
  const sources = await buildExecutables([{ platform: ownPlatform, path }])
  await writeFile(join(folder, sourcesFile), JSON.stringify(stateOf(programs, sources, startedAt)))
  return path
}
