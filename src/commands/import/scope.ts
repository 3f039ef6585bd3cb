import type { ImportReport } from './report.ts'
import { RefusedRequest, type RemoteServer } from './remote-server.ts'

/** The import of one namespace. */
export type Scope = {
  /** Empty or ends in `/`. */
  readonly namespace: string
  readonly from: RemoteServer
  readonly to: RemoteServer
  readonly report: ImportReport
  /** Accessors of the source's login methods that the target has, or would have after a dry run. */
  readonly methods: Set<string>
  /** Only reads. */
  readonly isDryRun: boolean
  progress(text: string): void
}

export type Import = {
  readonly kind: string
  readonly path: string
  /** Whether the target has it; a text is a note about what it has. */
  exists(): Promise<boolean | string>
  /** For a dry run: refuses what `write` would refuse before it writes. */
  check?(): Promise<unknown>
  /** Returns what the operator should know about it. */
  write(): Promise<string | undefined>
}

/**
 * Imports one object unless it exists. A refusal is reported, and ends nothing else. Resolves with whether there
 * was none.
 */
export function importOne(scope: Scope, { kind, path, exists, check, write }: Import): Promise<boolean> {
  return reporting(scope, kind, path, async () => {
    const { namespace, report, isDryRun } = scope
    const found = await exists()
    if (found !== false) return report.existed({ kind, namespace, path }, found === true ? undefined : found)
    if (!isDryRun) return report.imported({ kind, namespace, path }, await write())
    await check?.()
    report.imported({ kind, namespace, path })
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

/** The warnings of a response, as a note. */
export const noteOf = (warnings: readonly string[]): string | undefined =>
  warnings.length === 0 ? undefined : warnings.join(' ')

/** The names at a path that only some servers have. */
export async function listIfThere(from: RemoteServer, path: string): Promise<readonly string[]> {
  try {
    return await from.list(path)
  } catch (error) {
    if (error instanceof RefusedRequest) return []
    throw error
  }
}
