import { join } from 'node:path'

/** What `bin/gatehouse` starts. */
export const product = {
  folder: join(import.meta.dirname, '../dist'),
  programs: { gatehouse: 'src/main.ts' },
}
