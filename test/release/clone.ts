import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import { temporaryFolder } from '../support/temporary-folder.ts'

const project = join(import.meta.dirname, '../..')

/** The environment of a plain shell, without the variables of this test run. */
export const environment = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !/^(?:GATEHOUSE|VITEST|NODE_ENV|NODE_COMPILE)/.test(name)),
)

/** A copy of parts of this project. */
export async function copyOf(...parts: string[]) {
  const folder = await temporaryFolder()
  for (const part of parts) await cp(join(project, part), folder.file(part), { recursive: true })
  return folder
}
