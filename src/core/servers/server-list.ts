import { z } from 'zod'
import type { SharedStorage } from '../../storage/shared-storage.ts'
import type { View } from '../barrier/view.ts'

/** What a server tells the others about itself. */
export type OwnServer = ShownServer & {
  /** The version of Gatehouse, and when it was made. */
  readonly product: { readonly version: string; readonly made: string }
}

type ShownServer = { readonly name: string; readonly address: string; readonly version: string }

/** A server that is alive. `lastSeenMs` is in milliseconds since the epoch. */
type LiveServer = ShownServer & { readonly lastSeenMs: number; readonly isOwn: boolean }

export type ServerListParts = {
  /** The core's view. */
  readonly view: View
  readonly shared: SharedStorage | undefined
  readonly own: OwnServer | undefined
}

const prefix = 'server/'
const storedServer = z.object({ address: z.string(), version: z.string() })

/** The servers that share the storage, with their addresses. docs/replicas.md#registration */
export class ServerList {
  readonly #parts: ServerListParts

  constructor(parts: ServerListParts) {
    this.#parts = parts
  }

  /** Stores where this server is, and removes the records of servers that are gone. */
  async announce(): Promise<void> {
    const { view, shared, own } = this.#parts
    if (shared === undefined || own === undefined) return
    const live = new Set((await shared.replicas()).map(({ id }) => id))
    const gone = (await view.listKeys(prefix)).filter((key) => !live.has(key.slice(prefix.length)))
    const { address, version } = own
    await view.write([
      ...gone.map((key) => ({ key, value: undefined, isUncopied: true as const })),
      { key: prefix + shared.replicaId, value: { address, version }, isUncopied: true },
    ])
  }

  async live(): Promise<LiveServer[]> {
    const { view, shared, own } = this.#parts
    const { name = '', address = '', version = '' } = own ?? {}
    const alone = { name, address, version, lastSeenMs: Date.now(), isOwn: true }
    if (shared === undefined) return [alone]
    return await Promise.all(
      (await shared.replicas()).map(async ({ id, name, lastSeenMs }) => {
        if (id === shared.replicaId) return { ...alone, name }
        const stored = storedServer.safeParse(await view.get(prefix + id)).data
        return { address: '', version: '', ...stored, name, lastSeenMs, isOwn: false }
      }),
    )
  }
}
