import { z } from 'zod'
import type { Range, View } from '../../core/barrier/view.ts'

/** The first acknowledgement of a message by an entity. docs/contract/messages.md#acknowledgements */
export type Acknowledgement = {
  readonly entityId: string
  /** The entity's name at that time. */
  readonly entityName: string
  /** RFC 3339. */
  readonly time: string
}

const recordFields = z.object({ entity_name: z.string(), time: z.string() })

export class Acknowledgements {
  readonly #view: View

  constructor(view: View) {
    this.#view = view.view('message-ack/', { numbers: 'plain', isUncopied: true })
  }

  /** Does nothing if the entity has already acknowledged the message. */
  async add(namespaceId: string, id: string, { entityId, entityName, time }: Acknowledgement): Promise<void> {
    await this.#view.putIfAbsent(folderOf(namespaceId, id) + entityId, { entity_name: entityName, time })
  }

  async remove(namespaceId: string, id: string, entityId: string): Promise<void> {
    await this.#view.write([{ key: folderOf(namespaceId, id) + entityId, value: undefined }])
  }

  /** Sorted by entity id. */
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

  async removeOf(namespaceId: string, id: string): Promise<void> {
    const folder = folderOf(namespaceId, id)
    const [first] = await this.#view.listKeys(folder, { limit: 1 })
    if (first !== undefined) await this.#view.deletePrefix(folder)
  }

  async removeNamespace(namespaceId: string): Promise<void> {
    await this.#view.deletePrefix(`${namespaceId}/`)
  }
}

const folderOf = (namespaceId: string, id: string): string => `${namespaceId}/${id}/`
