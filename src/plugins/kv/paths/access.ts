import type { AclOperation } from '../../../core/policies/acl.ts'
import { clientIdOf } from '../../../core/tokens/store/client-id.ts'
import { fail } from '../../../errors.ts'
import { type Exchange, maySeeFolder, maySend } from '../../../http/resource/resource.ts'
import { pagesOf } from '../../../lib/data/pages.ts'
import type { JsonObject } from '../../../lib/text/json.ts'
import type { Actor } from '../store/key-record.ts'

/** The caller, as metadata shows who has done something. */
export const actorOf = ({ caller }: Exchange<unknown, unknown>, operation: string): Actor => ({
  actor: caller?.token.display_name ?? '',
  entity_id: caller?.token.entity_id ?? '',
  operation,
  ...(caller !== undefined && { client_id: clientIdOf(caller.token) }),
})

type Right = 'create' | 'update'

const mayWrite = ({ caller, call }: Exchange<unknown, unknown>, operation: Right): boolean =>
  caller?.acl.decide({
    operation,
    path: call.path,
    fields: call.sent,
    readings: plainReadings,
    wrapTtlSeconds: call.wrapTtl,
  }).allowed === true

/** Nothing in a secret is a list to this server. */
export const plainReadings = () => 'plain' as const

/**
 * Throws unless the caller may write a key that exists, or does not, at the moment of the write: another
 * request may have created or deleted it since the policies were asked.
 */
export function checkMayWrite(exchange: Exchange<unknown, unknown>, exists: boolean): void {
  if (exchange.call.creates !== exists) return
  if (!mayWrite(exchange, exists ? 'update' : 'create')) throw fail('denied', 'permission denied')
}

/** Whether the caller may also send this call, by a path below the same mount: for policies that know only that one. */
export const mayElsewhere = (
  exchange: Exchange<unknown, unknown>,
  operation: AclOperation,
  path: string,
  fields: JsonObject = {},
): boolean => maySend(exchange, { operation, path, fields, readings: plainReadings })

export function checkMayElsewhere(...asked: Parameters<typeof mayElsewhere>): void {
  if (!mayElsewhere(...asked)) throw fail('denied', 'permission denied')
}

/** Throws unless the caller may also make passwords by this policy of the mount's namespace. */
export function checkMayGenerate({ call, caller, mount }: Exchange<unknown, unknown>, policy: string): void {
  const namespace = call.path.slice(0, call.path.length - call.below.length - mount.path.length)
  const path = `${namespace}sys/policies/password/${policy}/generate`
  const asked = { operation: 'read', path, fields: {}, readings: plainReadings } as const
  if (caller?.acl.decide(asked).allowed !== true) throw fail('denied', 'permission denied')
}

/** Of the paths below a folder those in folders that the caller may see. The folder is a path below the mount. */
export async function pathsToSee(
  exchange: Exchange<unknown, unknown>,
  folder: string,
  paths: readonly string[],
): Promise<readonly string[]> {
  const seen = new Map<string, boolean>([['', true]])
  const kept: string[] = []
  for await (const page of pagesOf(paths))
    for (const path of page) {
      const inner = path.slice(0, path.lastIndexOf('/') + 1)
      const isSeen = seen.get(inner) ?? maySeeFolder(exchange, folder + inner)
      seen.set(inner, isSeen)
      if (isSeen) kept.push(path)
    }
  return kept
}
