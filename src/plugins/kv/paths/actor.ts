import { clientIdOf } from '../../../core/tokens/store/client-id.ts'
import type { Exchange } from '../../../http/resource/resource.ts'
import type { Actor } from '../store/key-record.ts'

/** The caller, as metadata shows who has done something. */
export const actorOf = ({ caller }: Exchange<unknown, unknown>, operation: string): Actor => ({
  actor: caller?.token.display_name ?? '',
  entity_id: caller?.token.entity_id ?? '',
  operation,
  ...(caller !== undefined && { client_id: clientIdOf(caller.token) }),
})
