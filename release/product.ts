import { join } from 'node:path'

/** What `bin/gatehouse` starts. */
export const product = {
  folder: join(import.meta.dirname, '../dist'),
  programs: { gatehouse: 'src/process/main.ts' },
}

/** Exit code of release/renew.ts where the bundler is not installed, or the folder cannot be written. */
export const cannotBundle = 3
