import { join } from 'node:path'

const project = join(import.meta.dirname, '../..')

/** Made at the beginning of a run (bundle-of-the-run.ts). */
export const bundleFolder = join(project, 'node_modules/.cache/test-bundle')

/** What tests start as processes of their own. A start takes half the time from a bundle. */
export const programs: Readonly<Record<string, string>> = Object.fromEntries(
  [
    'src/process/main.ts',
    'test/support/cloud-server.ts',
    'test/support/practice-server.ts',
    'test/commands/migrating-program.ts',
    'test/core/audit/writing-program.ts',
    'test/core/barrier/rotating-program.ts',
    'test/core/barrier/sealing-program.ts',
    'test/start/killed-start-program.ts',
    'test/storage/copying-program.ts',
  ].map((file) => [file.replaceAll('/', '.').replace(/\.ts$/, ''), file]),
)

const names = new Map(Object.entries(programs).map(([name, file]) => [file, name]))

/** The file to run for a program, which is given as its path in the project. */
export function programFile(program: string): string {
  const name = names.get(program)
  return name === undefined ? join(project, program) : join(bundleFolder, `${name}.js`)
}
