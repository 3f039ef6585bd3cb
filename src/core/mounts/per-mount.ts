import type { Mount } from './mount.ts'
import type { MountStore } from './mount-store.ts'

/** What a mount type keeps in memory for each of its mounts: by UUID, so it survives a move. */
export class PerMount<T extends Disposable> {
  readonly #mounts: Pick<MountStore, 'table'>
  readonly #open: (mount: Mount) => T
  readonly #byUuid = new Map<string, T>()

  constructor(mounts: Pick<MountStore, 'table'>, open: (mount: Mount) => T) {
    this.#mounts = mounts
    this.#open = open
  }

  of(mount: Mount): T {
    const known = this.#byUuid.get(mount.uuid)
    if (known !== undefined) return known
    this.#dropRemoved()
    const opened = this.#open(mount)
    this.#byUuid.set(mount.uuid, opened)
    return opened
  }

  /** What is kept now, with the mounts as they are now. */
  all(): { readonly mount: Mount; readonly kept: T }[] {
    return [...this.#byUuid].flatMap(([uuid, kept]) => {
      const mount = this.#mounts.table.byUuid(uuid)
      return mount === undefined ? [] : [{ mount, kept }]
    })
  }

  #dropRemoved(): void {
    for (const [uuid, kept] of this.#byUuid) {
      if (this.#mounts.table.byUuid(uuid) !== undefined) continue
      this.#byUuid.delete(uuid)
      kept[Symbol.dispose]()
    }
  }
}
