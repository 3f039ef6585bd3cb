import type { ListRange } from '../../core/identity/entities/entity-lists.ts'
import { limitOf } from '../../http/resource/resource.ts'
import type { JsonValue } from '../../lib/text/json.ts'

/** The requested range of a list. docs/contract/http.md#verbs-and-paths */
export const listRange = ({ after, limit }: Readonly<Record<string, JsonValue>>): ListRange => ({
  after: typeof after === 'string' ? after : '',
  limit: Math.max(0, limitOf(limit)),
})
