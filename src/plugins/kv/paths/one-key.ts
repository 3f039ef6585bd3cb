import { refuse } from '../../../errors.ts'
import type { Exchange } from '../../../http/resource/resource.ts'
import { requiresTag } from '../../../lib/net/entity-tag.ts'
import type { KeyDraft } from '../store/key-draft.ts'
import type { Head } from '../store/key-record.ts'
import type { KvMounts } from '../store/kv-mounts.ts'
import { isSecretPath } from '../store/secret-path.ts'

type At = Exchange<unknown, { path: string }>

/** Whether the key that a call names exists. */
export async function isThere(kvMounts: KvMounts, { mount, params }: At): Promise<boolean> {
  const keys = await kvMounts.keysOf(mount)
  return isSecretPath(params.path) && (await keys.find(params.path)) !== undefined
}

/** Changes the key that a call names, if the call wants this state of it. A path that no key can have is none. */
export async function changeKey(
  kvMounts: KvMounts,
  exchange: At,
  change: (draft: KeyDraft) => Promise<void> | void,
): Promise<void> {
  const { mount, params } = exchange
  const keys = await kvMounts.keysOf(mount)
  if (!isSecretPath(params.path)) return checkIfMatch(exchange, undefined)
  await keys.change(params.path, {
    apply: (draft) => {
      checkIfMatch(exchange, draft.head)
      return change(draft)
    },
  })
}

/** Changes with everything that a read of the key's data shows. */
export const tagOf = ({ id, current, changes }: Head): string => `"${id}.${current}.${changes}"`

/** Throws if the request wants another state of the key. docs/contract/kv.md#conditional-calls */
export function checkIfMatch({ header }: Exchange<unknown, unknown>, head: Head | undefined): void {
  const wanted = header('if-match')
  if (wanted === undefined) return
  if (head === undefined || !requiresTag(wanted, tagOf(head)))
    throw refuse('precondition', 'precondition failed')
}
