import type { FastifyInstance } from 'fastify'
import type { Barrier } from '../../core/barrier/barrier.ts'
import { resource } from '../../http/resource.ts'
import { answers } from './answers.ts'

/** The barrier's data keys. Contract core-http §6.8. */
export function keyRoutes(app: FastifyInstance, { barrier }: { barrier: Pick<Barrier, 'keyStatus' | 'rotate'> }): void {
  resource(app, '/key-status', {
    help: 'The data key that seals what is written now.',
    read: { summary: 'Read the state of the data key', ...answers.keyStatus, handle: () => ({ data: barrier.keyStatus() }) },
  })
  for (const path of ['/rotate', '/rotate/keyring'] as const) {
    resource(app, path, {
      help: 'Seal what is written from now on with a new data key; older records still open.',
      sudo: true,
      write: {
        summary: 'Begin a new data key',
        handle: async () => {
          await barrier.rotate()
          return undefined
        },
      },
    })
  }
}
