import { z } from 'zod'
import { lastLoginDay } from '../../core/identity/entities/entity.ts'
import type { IdentityTidy } from '../../core/identity/entities/identity-tidy.ts'
import { refuse } from '../../errors.ts'
import { type Resource, resource } from '../../http/resource/resource.ts'
import { boolField, durationField, intField } from '../../lib/text/fields.ts'
import { shortDuration } from '../../lib/text/go-duration.ts'
import type { EntityParts } from './entities.ts'
import { entityInfo } from './entity-view.ts'
import { examples } from './examples.ts'

type TidyRouteParts = Pick<EntityParts, 'mountOf'> & { readonly identityTidy: IdentityTidy }

/** `identity/tidy`: deletes unused entities that logins created, such as one per CI job. */
export function tidyResources({ identityTidy, mountOf }: TidyRouteParts): Resource[] {
  return [
    resource('/tidy', {
      help: 'Delete entities that only logins created and nobody has used for a while.',
      sudo: true,
      write: {
        summary: 'Delete entities left behind by logins, or count them',
        example: examples.tidied,
        input: z
          .object({
            unused_for: durationField.default(0).describe('Time since the last login, such as 90d'),
            dry_run: boolField.default(false).describe('Delete nothing, only report what would be deleted'),
            limit: intField.default(0).describe('Most entities to delete by this call; 0: all'),
          })
          .meta({ examples: [{ unused_for: '90d', dry_run: true }] }),
        output: z.object({
          count: z.int(),
          dry_run: z.boolean(),
          sample: z.array(z.object({ id: z.string(), name: z.string(), last_login_day: z.string() }).loose()),
        }),
        handle: async ({ mount, input: { unused_for, dry_run, limit } }) => {
          if (unused_for === 0) throw refuse('invalid', "'unused_for' must be more than zero")
          if (limit < 0) throw refuse('invalid', "'limit' must not be negative")
          const { count, sample } = await identityTidy.run({
            namespace: mount.namespace,
            unusedForSeconds: unused_for,
            dryRun: dry_run,
            ...(limit > 0 && { limit }),
          })
          const life = identityTidy.maxTokenLifetime(mount.namespace)
          const early = `Entities are always kept for ${shortDuration(life)} after their last login, the longest lifetime of a batch token: batch tokens are not stored.`
          return {
            data: {
              count,
              dry_run,
              sample: sample.map((entity) => ({
                id: entity.id,
                ...entityInfo(entity, mountOf),
                last_login_day: lastLoginDay(entity),
              })),
            },
            ...(unused_for < life ? { warnings: [early] } : {}),
          }
        },
      },
    }),
  ]
}
