import { z } from 'zod'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import type { CloudEngine } from '../engine.ts'

const poolAnswer = {
  output: z.object({
    idle: z.int().describe('Credentials that were made ahead and that nobody has'),
    wanted: z.int().describe('What the roles ask for, together'),
    roles: z.array(
      z.object({
        role: z.string(),
        size: z.int(),
        ready: z.int().describe('Those that would be handed out now'),
        oldest: z.string().nullable(),
        error: z.string().describe('Why the last refill failed; empty if it did not'),
        retry_at: z.string().nullable(),
      }),
    ),
  }),
  example: {
    idle: 3,
    wanted: 3,
    roles: [{ role: 'deploy', size: 3, ready: 3, oldest: '2026-05-05T06:07:08Z', error: '', retry_at: null }],
  },
}

/** docs/contract/cloud-pool.md#reading */
export const poolResource = ({ pools }: CloudEngine): Resource =>
  resource('/pool', {
    help: 'The credentials of this mount that were made ahead.',
    read: {
      summary: 'Count the credentials that were made ahead, for each role',
      ...poolAnswer,
      handle: async ({ mount }) => ({ data: await pools.shown(mount) }),
    },
  })
