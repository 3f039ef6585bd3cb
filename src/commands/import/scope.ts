import type { Passwords } from './passwords.ts'
import { type Body, givenFields, ifRefused, RefusedRequest, type RemoteServer } from './remote-server.ts'
import type { ImportReport } from './report.ts'

export type Scope = {
  /** Empty or ends in `/`. */
  readonly namespace: string
  readonly from: RemoteServer
  readonly to: RemoteServer
  readonly report: ImportReport
  /** Accessors of the source's login methods that the target has, or would have after a dry run. */
  readonly methods: Set<string>
  readonly isDryRun: boolean
  readonly isUpdate: boolean
  /** Mounts that are not looked at: `auth/ldap/`, `team/transit/`. */
  readonly except: ReadonlySet<string>
  /** Where password hashes come from, if they are imported. */
  readonly passwords?: Passwords
  /** Compares all versions of secrets, not only their last one. */
  readonly everyVersion?: boolean
  progress(text: string): void
}

export type Import = {
  readonly kind: string
  readonly path: string
  /** Whether the target has it; a text says how it differs from the source's. */
  exists(): Promise<boolean | string>
  /** For a dry run: refuses what `write` would refuse before it writes. */
  check?(): Promise<unknown>
  /** Returns what the operator should know about it. */
  write(): Promise<string | undefined>
  /** Makes what exists like the source's; without it, `write` does. */
  update?(): Promise<string | undefined>
}

/**
 * Imports one object unless it exists; an update also brings over what differs. A refusal is reported, and ends
 * nothing else. Resolves with whether there was none.
 */
export function importOne(
  scope: Scope,
  { kind, path, exists, check, write, update = write }: Import,
): Promise<boolean> {
  return reporting(scope, kind, path, async () => {
    const { namespace, report, isDryRun, isUpdate } = scope
    const item = { kind, namespace, path }
    const found = await exists()
    if (found === true) return report.existed(item)
    if (found !== false && !isUpdate) return report.existed(item, found)
    if (isDryRun) await check?.()
    const note = isDryRun ? undefined : await (found === false ? write() : update())
    if (found === false) report.imported(item, note)
    else report.updated(item, note === undefined ? found : `${found}. ${note}`)
  })
}

/** Reports a refused request as a failure of this object. Resolves with whether there was none. */
export async function reporting(
  { namespace, report }: Scope,
  kind: string,
  path: string,
  work: () => Promise<void>,
): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (!(error instanceof RefusedRequest)) throw error
    report.failed({ kind, namespace, path }, error.message)
    return false
  }
}

/** Whether the operator has decided that a mount stays on the source. */
export function isLeftOut({ namespace, except, report }: Scope, path: string): boolean {
  const isExcepted = except.has(namespace + path)
  if (isExcepted)
    report.leftOut({ kind: 'excepted_mounts', instead: '--except names them' }, [namespace + path])
  return isExcepted
}

export const noteOf = (warnings: readonly string[]): string | undefined =>
  warnings.length === 0 ? undefined : warnings.join(' ')

/** The names at a path that only some servers have. */
export const listIfThere = (from: RemoteServer, path: string): Promise<readonly string[]> =>
  from.list(path).catch(ifRefused<readonly string[]>([]))

/**
 * Says in which of its fields an object of the source differs from the target's, for `exists`; true: in none; false:
 * the target has none. Of fields that the target does not show, nothing is known.
 */
export function likeness(theirs: Body, ours: Body | undefined): boolean | string {
  if (ours === undefined) return false
  const given = [givenFields(theirs), givenFields(ours)] as const
  const fields = Object.keys(theirs)
    .filter((name) => Object.hasOwn(ours, name) && comparable(given[0][name]) !== comparable(given[1][name]))
    .toSorted()
  return fields.length === 0 ? true : `it differs in ${fields.join(', ')}`
}

const unset: ReadonlySet<unknown> = new Set([undefined, 0, false, '0s', '{}'])

/** The order of lists of texts means nothing, and neither does that of fields. */
function comparable(value: unknown): unknown {
  if (unset.has(value)) return undefined
  const text = JSON.stringify(value, (_, inner: unknown) => {
    if (Array.isArray(inner)) return inner.toSorted()
    return typeof inner === 'object' && inner !== null && !JSON.isRawJSON(inner)
      ? Object.fromEntries(Object.entries(inner).toSorted(([one], [other]) => (one < other ? -1 : 1)))
      : inner
  })
  return unset.has(text) ? undefined : text
}
