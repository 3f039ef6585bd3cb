import type { FastifyInstance } from 'fastify'
import { resource } from '../../http/resource.ts'
import { answers } from './answers.ts'

/** What user interfaces ask. Contract core-http §6.9. */
export function uiRoutes(app: FastifyInstance): void {
  resource(app, '/internal/ui/resultant-acl', {
    help: 'What the calling token may do, for user interfaces.',
    read: { summary: 'Rights of the caller', ...answers.resultantAcl, handle: ({ caller }) => ({ data: caller?.acl.resultant() ?? {} }) },
  })
}
