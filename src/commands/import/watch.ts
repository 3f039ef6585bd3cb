import { setTimeout as sleep } from 'node:timers/promises'
import { StartError } from '../../errors.ts'
import type { ImportReport } from './report.ts'

type Watch = {
  readonly everySeconds: number
  /** Aborted when the operator cuts over: writes at the source have stopped. */
  readonly cutOver: AbortSignal
  /** One pass; without `writes`, it counts what a pass would write. */
  pass(writes: boolean): Promise<ImportReport>
  progress(text: string): void
}

/**
 * Repeats an update until the operator cuts over. After that come a last pass, and one that only counts. Resolves with
 * what it has left, which must be nothing. docs/import.md#watch
 */
export async function watchUntilCutOver({ everySeconds, cutOver, pass, progress }: Watch) {
  for (let number = 1; !cutOver.aborted; number += 1) {
    try {
      const report = await pass(true)
      progress(`pass ${number}: ${report.summary()}`)
    } catch (error) {
      // the source may be back at the next pass
      if (!(error instanceof StartError)) throw error
      progress(`${error.message}; the next pass tries again`)
    }
    await sleep(1000 * everySeconds, undefined, { signal: cutOver }).catch(() => {})
  }
  progress('cutting over: the last pass')
  const last = await pass(true)
  progress(`last pass: ${last.summary()}`)
  const counted = await pass(false)
  const { imported, updated, existed } = counted.objects
  const left = [...imported, ...updated, ...existed.filter(({ note }) => note !== undefined)]
  progress(
    `${left.length} left: ${left.length === 0 ? 'the target has what the source has' : 'see left in the report'}`,
  )
  return left
}
