import { z } from 'zod'
import type { Range, View } from '../../core/barrier/view.ts'

const recordFields = z.object({
  /** The entity's name at that time. */
  entity_name: z.string(),
  /** RFC 3339. */
  time: z.string(),
})

/** The first acknowledgement of a message by an entity. docs/contract/messages.md#acknowledgements */
export type Acknowledgement = Readonly<z.output<typeof recordFields>> & { readonly entityId: string }

export class Acknowledgements {
  readonly #view: View

  constructor(view: View) {
    this.#view = view.view('message-ack/', { numbers: 'plain', isUncopied: true })
  }

  /** Does nothing if the entity has already acknowledged the message. */
  async add(namespaceId: string, id: string, { entityId, ...record }: Acknowledgement): Promise<void> {
    await this.#view.putIfAbsent(folderOf(namespaceId, id) + entityId, record)
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
    return records.map(({ key, value }) => ({
      entityId: key.slice(folder.length),
      ...recordFields.parse(value),
    }))
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
