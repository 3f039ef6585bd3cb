import type { Core } from '../../../core/open/core.ts'
import { refuse } from '../../../errors.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import { answers } from '../answers/answers.ts'

/** `sys/internal/counters/*`, for the namespace of the request. docs/contract/http.md#help-counters-tools */
export function counterResources({ counts }: Pick<Core, 'counts'>): Resource[] {
  return [
    resource('/internal/counters/tokens', {
      help: 'How many valid service tokens the namespace has; the count may be some seconds old.',
      read: {
        summary: 'Count service tokens',
        ...answers.serviceTokens,
        handle: async ({ mount }) => ({
          data: { counters: { service_tokens: { total: await counts.serviceTokens.of(mount.namespace) } } },
        }),
      },
    }),
    resource('/internal/counters/entities', {
      help: 'How many entities the namespace has; the count may be some seconds old.',
      read: {
        summary: 'Count entities',
        ...answers.entities,
        handle: async ({ mount }) => ({
          data: { counters: { entities: { total: await counts.entities.of(mount.namespace) } } },
        }),
      },
    }),
    resource('/internal/counters/requests', {
      help: 'Removed: requests are no longer counted.',
      read: {
        summary: 'Removed',
        statuses: [],
        handle: () => {
          throw refuse('missing', 'The functionality has been removed on this path')
        },
      },
    }),
  ]
}
