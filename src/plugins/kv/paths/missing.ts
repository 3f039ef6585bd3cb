import type { Reply } from '../../../http/resource/resource.ts'

/** 404 with what is known of something that is deleted. */
export const missing = (data: object | null, warnings: readonly string[] = []): Reply => ({
  status: 404,
  data,
  warnings,
})

/** 404 with an empty body: there is nothing to change. */
export const emptyMissing: Reply = { raw: { status: 404, contentType: 'application/json', body: '' } }
