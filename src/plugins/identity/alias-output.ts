import { z } from 'zod'

const texts = z.record(z.string(), z.string()).nullable()

export const aliasOutput = z.object({
  id: z.string(),
  canonical_id: z.string(),
  mount_accessor: z.string(),
  mount_type: z.string().optional(),
  mount_path: z.string().optional(),
  name: z.string(),
  metadata: texts,
  custom_metadata: texts,
  merged_from_canonical_ids: z.array(z.string()).nullable(),
  namespace_id: z.string(),
  local: z.boolean(),
  creation_time: z.string(),
  last_update_time: z.string(),
})

export const writtenAlias = aliasOutput.pick({ id: true, canonical_id: true })
