/** One object of a server. `namespace` is empty or ends in `/`; `path` has no secret. */
export type Item = { readonly kind: string; readonly namespace: string; readonly path: string }

/** What became of the objects of a server. docs/import.md#report */
export class ImportReport {
  readonly #imported: (Item & { note?: string })[] = []
  readonly #existing: (Item & { note?: string })[] = []
  readonly #failed: (Item & { reason: string })[] = []

  imported(item: Item, note?: string): void {
    this.#imported.push(note === undefined ? item : { ...item, note })
  }

  existed(item: Item, note?: string): void {
    this.#existing.push(note === undefined ? item : { ...item, note })
  }

  failed(item: Item, reason: string): void {
    this.#failed.push({ ...item, reason })
  }

  get counts(): { readonly imported: number; readonly existed: number; readonly failed: number } {
    return {
      imported: this.#imported.length,
      existed: this.#existing.length,
      failed: this.#failed.length,
    }
  }

  /** One line, such as `3 imported, 1 existed, 0 failed`. */
  get summary(): string {
    const { imported, existed, failed } = this.counts
    return `${imported} imported, ${existed} existed, ${failed} failed`
  }

  toJSON(): object {
    return {
      summary: this.counts,
      imported: this.#imported,
      existed: this.#existing,
      failed: this.#failed,
    }
  }
}
