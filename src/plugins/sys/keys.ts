import type { Barrier } from '../../core/barrier/barrier.ts'
import { type Resource, resource } from '../../http/resource.ts'
import { z } from 'zod'
import { defaultKeyLimits } from '../../core/barrier/keyring.ts'
import type { RotationRules } from '../../core/barrier/keyring-record.ts'
import { refuse } from '../../errors.ts'
import { boolField, durationField, intField } from '../../lib/fields.ts'
import { answers } from './answers.ts'

type KeyBarrier = Pick<Barrier, 'keyStatus' | 'rotate' | 'rotationRules' | 'changeRotationRules'>

const rulesInput = z.object({
  enabled: boolField.optional().describe('Whether data keys rotate automatically'),
  interval: durationField
    .optional()
    .describe('Time between two rotations: at least 24h; 0 disables rotation by time'),
  max_operations: intField.optional().describe('Number of encryptions after which a key rotates'),
})

const leastIntervalSeconds = 86_400
const { block: leastOperations, perKey: mostOperations } = defaultKeyLimits

/** The barrier's data keys. docs/contract/http.md#help-counters-tools */
export function keyResources({ barrier }: { barrier: KeyBarrier }): Resource[] {
  return [
    resource('/key-status', {
      help: 'The data key that encrypts new records.',
      read: {
        summary: 'Read the state of the data key',
        ...answers.keyStatus,
        handle: () => ({ data: barrier.keyStatus() }),
      },
    }),
    ...(['/rotate', '/rotate/keyring'] as const).map((path) =>
      resource(path, {
        help: 'Encrypt new records with a new data key; older records stay readable.',
        sudo: true,
        write: {
          summary: 'Rotate the data key',
          handle: async () => {
            await barrier.rotate()
            return undefined
          },
        },
      }),
    ),
    ...(['/rotate/config', '/rotate/keyring/config'] as const).map((path) =>
      resource(path, {
        help: 'When data keys rotate automatically.',
        read: {
          summary: 'Read when data keys rotate',
          ...answers.rotationRules,
          handle: () => ({ data: barrier.rotationRules() }),
        },
        write: {
          summary: 'Set when data keys rotate',
          input: rulesInput,
          handle: async ({ input }) => {
            await barrier.changeRotationRules((rules) => checkedRules(rules, input))
            return undefined
          },
        },
      }),
    ),
  ]
}

/** Keeps the rules that were not sent; throws a refusal for a value out of range. */
function checkedRules(rules: RotationRules, sent: z.output<typeof rulesInput>): RotationRules {
  const { enabled = rules.enabled, interval = rules.interval, max_operations = rules.max_operations } = sent
  if (interval !== 0 && interval < leastIntervalSeconds)
    throw refuse('invalid', 'interval must be greater or equal to 24h0m0s')
  if (max_operations < leastOperations || max_operations > mostOperations) {
    throw refuse('invalid', `max_operations must be in the range [${leastOperations},${mostOperations}]`)
  }
  return { enabled, interval, max_operations }
}
