import type { View } from '../barrier/view.ts'
import type { Mount } from './mount.ts'

type Room = {
  readonly view: View
  readonly leave: () => void
  inside: number
  closed: boolean
  waiting: (() => void)[]
}

/** What goes on inside each mount: how many requests, whether more may come in, and where its data lie. */
export class InFlightRequests {
  readonly #byUuid = new Map<string, Room>()
  readonly #view: View

  /** `view` is the root of everything stored. */
  constructor(view: View) {
    this.#view = view
  }

  /** Makes room for a mount's requests, open unless the mount is being removed or moved. */
  add({ uuid, tainted, moving }: Mount): void {
    const room: Room = {
      view: this.#view.view(`mount/${uuid}/`, { numbers: 'literal' }),
      inside: 0,
      closed: tainted || moving !== undefined,
      waiting: [],
      leave: () => {
        room.inside -= 1
        if (room.inside === 0) for (const resume of room.waiting.splice(0)) resume()
      },
    }
    this.#byUuid.set(uuid, room)
  }

  remove({ uuid }: Mount): void {
    this.#byUuid.delete(uuid)
  }

  view({ uuid }: Mount): View | undefined {
    return this.#byUuid.get(uuid)?.view
  }

  /**
   * Counts one more request inside; what comes back is called once when it has left. Undefined when none may
   * come in.
   */
  enter({ uuid }: Mount): (() => void) | undefined {
    const room = this.#byUuid.get(uuid)
    if (room === undefined || room.closed) return undefined
    room.inside += 1
    return room.leave
  }

  /** As `enter`, of a room that is closed. */
  enterClosed({ uuid }: Mount): (() => void) | undefined {
    const room = this.#byUuid.get(uuid)
    if (room === undefined) return undefined
    room.inside += 1
    return room.leave
  }

  isClosed({ uuid }: Mount): boolean {
    return this.#byUuid.get(uuid)?.closed ?? true
  }

  /** Lets nobody in from now on; resolves once everyone has left. */
  close({ uuid }: Mount): Promise<void> {
    const room = this.#byUuid.get(uuid)
    if (room === undefined) return Promise.resolve()
    room.closed = true
    return room.inside === 0 ? Promise.resolve() : new Promise((resolve) => room.waiting.push(resolve))
  }

  open({ uuid }: Mount): void {
    const room = this.#byUuid.get(uuid)
    if (room !== undefined) room.closed = false
  }
}
