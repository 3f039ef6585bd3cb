import { z } from 'zod'
import type { Barrier } from '../../../core/barrier/barrier.ts'
import { defaultKeyLimits } from '../../../core/barrier/keyring.ts'
import type { RotationRules } from '../../../core/barrier/keyring-record.ts'
import type { SealConfig } from '../../../core/barrier/seal-config.ts'
import type { Core } from '../../../core/open/core.ts'
import { refuse, StartError } from '../../../errors.ts'
import { checkMayReach, type Exchange, type Resource, resource } from '../../../http/resource/resource.ts'
import { boolField, durationField, intField } from '../../../lib/text/fields.ts'
import { answers } from '../answers/answers.ts'

export type KeyParts = Pick<Core, 'barrier' | 'log' | 'ceremonies'> & {
  /** The key of a seal that the server opens by itself, which the caller must erase. Throws a StartError. */
  ownKey(seal: SealConfig): Promise<Uint8Array>
}

const rulesInput = z.object({
  enabled: boolField.optional().describe('Whether data keys rotate automatically'),
  interval: durationField
    .optional()
    .describe('Time between two rotations: at least 24h; 0 disables rotation by time'),
  max_operations: intField.optional().describe('Number of encryptions after which a key rotates'),
})

const leastIntervalSeconds = 86_400
const { block: leastOperations, perKey: mostOperations } = defaultKeyLimits

/** The barrier's keys. docs/contract/http.md#help-counters-tools, docs/storage.md#terms */
export function keyResources({ barrier, log, ceremonies, ownKey }: KeyParts): Resource[] {
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
          handle: async (exchange) => {
            checkMayRotate(exchange)
            await barrier.rotate()
          },
        },
      }),
    ),
    resource('/rotate/root', {
      help: 'Replace the root key, which encrypts the data keys. For servers that hold their seal key.',
      sudo: true,
      write: {
        summary: 'Rotate the root key',
        handle: async (exchange) => {
          checkMayRotate(exchange)
          await rotateRoot(barrier, await readSealKey(await ceremonies.seal(), ownKey))
          log.info({ event: 'key_rotated' }, 'the root key was replaced')
        },
      },
    }),
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
          input: rulesInput.meta({ examples: [{ interval: '720h', max_operations: 1_000_000_000 }] }),
          handle: ({ input }) => barrier.changeRotationRules((rules) => checkedRules(rules, input)),
        },
      }),
    ),
  ]
}

/** Other servers have this path alone. */
const checkMayRotate = (exchange: Exchange<unknown, unknown>): void =>
  checkMayReach(exchange, { operation: 'update', path: 'rotate' })

function readSealKey(seal: SealConfig, ownKey: KeyParts['ownKey']): Promise<Uint8Array> {
  if (seal.type === 'shamir') throw refuse('invalid', 'rotate/root is not available with seal type shamir')
  return ownKey(seal).catch((cause: unknown) => {
    throw cause instanceof StartError ? refuse('invalid', cause.message, { cause }) : cause
  })
}

async function rotateRoot(barrier: Pick<Barrier, 'rotateRootKey'>, sealKey: Uint8Array): Promise<void> {
  try {
    await barrier.rotateRootKey(sealKey)
  } finally {
    sealKey.fill(0)
  }
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
