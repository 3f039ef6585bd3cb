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
  readonly imported: readonly Item[]
  readonly updated: readonly (Item & { readonly note: string })[]
  readonly existed: readonly (Item & { readonly note?: string })[]
  readonly failed: readonly (Item & { readonly reason: string })[]
}

/** What became of the objects of a server. docs/import.md#report */
export class ImportReport {
  readonly #imported: (Item & { note?: string })[] = []
  readonly #updated: (Item & { note: string })[] = []
  readonly #existing: (Item & { note?: string })[] = []
  readonly #failed: (Item & { reason: string })[] = []
  readonly #leftOut = new Map<string, LeftOut>()

  imported(item: Item, note?: string): void {
    this.#imported.push(note === undefined ? item : { ...item, note })
  }

  /** `note` says how it differed. */
  updated(item: Item, note: string): void {
    this.#updated.push({ ...item, note })
  }

  /** `difference` says what the target has instead. */
  existed(item: Item, difference?: string): void {
    this.#existing.push(difference === undefined ? item : { ...item, note: `${difference}${staying}` })
  }

  failed(item: Item, reason: string): void {
    this.#failed.push({ ...item, reason })
  }

  leftOut({ kind, instead }: Omit<LeftOut, 'found'>, found: readonly string[]): void {
    const before = this.#leftOut.get(kind)?.found ?? []
    this.#leftOut.set(kind, { kind, instead, found: [...before, ...found] })
  }

  /** Each object so far. A dry run lists what it would import; what exists has a note if it differs. */
  get objects(): Objects {
    return { imported: this.#imported, updated: this.#updated, existed: this.#existing, failed: this.#failed }
  }

  get counts(): Counts {
    return {
      imported: this.#imported.length,
      updated: this.#updated.length,
      existed: this.#existing.length,
      differ: this.#existing.filter(({ note }) => note !== undefined).length,
      failed: this.#failed.length,
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
    return {
      summary: this.counts,
      imported: this.#imported,
      updated: this.#updated,
      existed: this.#existing,
      failed: this.#failed,
      never_carried: [...this.#leftOut.values()],
    }
  }
}
