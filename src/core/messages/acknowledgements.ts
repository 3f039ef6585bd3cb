import { z } from 'zod'
import type { Range } from '../../storage/storage.ts'
import type { View } from '../barrier/view.ts'

/**
 * That an entity acknowledged a message, and when it first did. docs/contract/messages.md#acknowledgements
 */
export type Acknowledgement = {
  readonly entityId: string
  /** As the entity was called then. */
  readonly entityName: string
  /** RFC 3339. */
  readonly time: string
}

const recordFields = z.object({ entity_name: z.string(), time: z.string() })

/** Who has acknowledged which message: a record each. */
export class Acknowledgements {
  readonly #view: View
  readonly #underWay = new Map<string, Set<Promise<unknown>>>()

  constructor(view: View) {
    this.#view = view.view('message-ack/', { numbers: 'plain' })
  }

  /** The first time is kept. */
  async add(namespaceId: string, id: string, { entityId, entityName, time }: Acknowledgement): Promise<void> {
    const folder = folderOf(namespaceId, id)
    const written = this.#view.putIfAbsent(folder + entityId, { entity_name: entityName, time })
    const others = this.#underWay.get(folder) ?? new Set()
    this.#underWay.set(folder, others.add(written))
    try {
      await written
    } finally {
      others.delete(written)
      if (others.size === 0) this.#underWay.delete(folder)
    }
  }

  /** By entity id. */
  async list(namespaceId: string, id: string, range?: Range): Promise<Acknowledgement[]> {
    const folder = folderOf(namespaceId, id)
    const after = range?.after
    const records = await this.#view.list(folder, {
      ...range,
      ...(after === undefined ? {} : { after: folder + after }),
    })
    return records.map(({ key, value }) => {
      const { entity_name, time } = recordFields.parse(value)
      return { entityId: key.slice(folder.length), entityName: entity_name, time }
    })
  }

  /** For a message that is gone; also those that are being written. */
  async removeOf(namespaceId: string, id: string): Promise<void> {
    const folder = folderOf(namespaceId, id)
    await Promise.allSettled(this.#underWay.get(folder) ?? [])
    const [first] = await this.#view.listKeys(folder, { limit: 1 })
    if (first !== undefined) await this.#view.deletePrefix(folder)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    await this.#view.deletePrefix(`${namespaceId}/`)
  }
}

const folderOf = (namespaceId: string, id: string): string => `${namespaceId}/${id}/`
