/** One object of a server. `namespace` is empty or ends in `/`; `path` has no secret. */
export type Item = { readonly kind: string; readonly namespace: string; readonly path: string }

const outcomes = ['imported', 'updated', 'existed', 'differ', 'failed'] as const
/** `differ` are those of `existed` that are not like the source's. */
type Counts = Readonly<Record<(typeof outcomes)[number], number>>

/** At the end of a note. */
export const staying = ', and stays as it is'

/** A kind of objects that no import carries, and the paths where the source has it. */
type LeftOut = { readonly kind: string; readonly instead: string; readonly found: readonly string[] }

type Objects = {
  readonly imported: (Item & { readonly note?: string })[]
  readonly updated: (Item & { readonly note: string })[]
  readonly existed: (Item & { readonly note?: string })[]
  readonly failed: (Item & { readonly reason: string })[]
}

/** What became of the objects of a server. docs/import.md#report */
export class ImportReport {
  /** Each object so far. A dry run lists what it would import; what exists has a note if it differs. */
  readonly objects: Objects = { imported: [], updated: [], existed: [], failed: [] }
  readonly #leftOut = new Map<string, LeftOut>()

  imported(item: Item, note?: string): void {
    this.objects.imported.push(note === undefined ? item : { ...item, note })
  }

  /** `note` says how it differed. */
  updated(item: Item, note: string): void {
    this.objects.updated.push({ ...item, note })
  }

  /** `difference` says what the target has instead. */
  existed(item: Item, difference?: string): void {
    this.objects.existed.push(difference === undefined ? item : { ...item, note: `${difference}${staying}` })
  }

  failed(item: Item, reason: string): void {
    this.objects.failed.push({ ...item, reason })
  }

  leftOut({ kind, instead }: Omit<LeftOut, 'found'>, found: readonly string[]): void {
    const before = this.#leftOut.get(kind)?.found ?? []
    this.#leftOut.set(kind, { kind, instead, found: [...before, ...found] })
  }

  get counts(): Counts {
    const { imported, updated, existed, failed } = this.objects
    return {
      imported: imported.length,
      updated: updated.length,
      existed: existed.length,
      differ: existed.filter(({ note }) => note !== undefined).length,
      failed: failed.length,
    }
  }

  /** One line, such as `3 imported, 1 existed, 0 failed`, of what was reported since `before`. */
  summary(before?: Counts): string {
    const { counts } = this
    const since = (outcome: keyof Counts) => counts[outcome] - (before?.[outcome] ?? 0)
    const [imported, updated, existed, differ, failed] = outcomes.map(since)
    return [
      `${imported} imported`,
      ...(updated === 0 ? [] : [`${updated} updated`]),
      `${existed} existed${differ === 0 ? '' : ` (${differ} differ)`}`,
      `${failed} failed`,
    ].join(', ')
  }

  toJSON(): object {
    return { summary: this.counts, ...this.objects, never_carried: [...this.#leftOut.values()] }
  }
}
