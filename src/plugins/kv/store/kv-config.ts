import { z } from 'zod'
import { refuse } from '../../../errors.ts'
import { boolField, intField, signedDurationField } from '../../../lib/text/fields.ts'
import { goDuration } from '../../../lib/text/go-duration.ts'

const storedConfig = z.object({
  maxVersions: z.number(),
  casRequired: z.boolean(),
  metadataCasRequired: z.boolean(),
  /** Seconds; negative: off for all keys. */
  deleteVersionAfter: z.number(),
})

export type KvConfig = Readonly<z.output<typeof storedConfig>>

const unset: KvConfig = {
  maxVersions: 0,
  casRequired: false,
  metadataCasRequired: false,
  deleteVersionAfter: 0,
}

/** A record that cannot be read is an error: it must not loosen what is required. */
export const readKvConfig = (stored: unknown): KvConfig =>
  stored === undefined ? unset : storedConfig.parse(stored)

/** An absent field keeps its value. docs/contract/kv.md#configuration */
export const configInput = z.object({
  max_versions: intField
    .optional()
    .describe('Versions kept of each key; 0 for 10. The larger of this and the setting of the key counts')
    .meta({ examples: [10] }),
  cas_required: boolField.optional().describe('Every write of data must name the current version'),
  metadata_cas_required: boolField
    .optional()
    .describe('Every write of metadata must name the current version of the metadata'),
  delete_version_after: signedDurationField
    .optional()
    .describe(
      'Lifetime of new versions; 0 for unlimited, negative to switch it off for all keys. The shorter of this and the setting of the key counts',
    )
    .meta({ examples: ['720h'] }),
})

const mostVersions = 4_294_967_295

export function checkMaxVersions(count: number | undefined): void {
  if (count !== undefined && (count < 0 || count > mostVersions))
    throw refuse('invalid', `max_versions must be between 0 and ${mostVersions}`)
}

export function changedConfig(before: KvConfig, input: z.output<typeof configInput>): KvConfig {
  checkMaxVersions(input.max_versions)
  return {
    maxVersions: input.max_versions ?? before.maxVersions,
    casRequired: input.cas_required ?? before.casRequired,
    metadataCasRequired: input.metadata_cas_required ?? before.metadataCasRequired,
    deleteVersionAfter: input.delete_version_after ?? before.deleteVersionAfter,
  }
}

const keptByDefault = 10

/** Of a key, or of a key without settings. */
type KeyLimits = Pick<KvConfig, 'maxVersions' | 'deleteVersionAfter'>

/** How many versions of a key are kept. */
export const keptVersions = (config: KeyLimits, key: Pick<KeyLimits, 'maxVersions'>): number =>
  Math.max(key.maxVersions, config.maxVersions) || keptByDefault

/** Seconds that a new version lives; 0: for ever. */
export function versionLifetime(config: KeyLimits, key: KeyLimits): number {
  if (config.deleteVersionAfter < 0) return 0
  const lifetimes = [key.deleteVersionAfter, config.deleteVersionAfter].filter((seconds) => seconds > 0)
  return lifetimes.length === 0 ? 0 : Math.min(...lifetimes)
}

export const shownConfig = (config: KvConfig) => ({
  cas_required: config.casRequired,
  delete_version_after: config.deleteVersionAfter < 0 ? '-1s' : goDuration(config.deleteVersionAfter),
  effective_max_versions: keptVersions(config, unset),
  max_versions: config.maxVersions,
  metadata_cas_required: config.metadataCasRequired,
})
