/** Items that wait, of several clients: those of one client in order of arrival, the clients in turn. */
export class FairQueue<Item> {
  readonly #byClient = new Map<string, Item[]>()

  get isEmpty(): boolean {
    return this.#byClient.size === 0
  }

  add(client: string, item: Item): void {
    const items = this.#byClient.get(client)
    if (items === undefined) this.#byClient.set(client, [item])
    else items.push(item)
  }

  get first(): Item | undefined {
    for (const [item] of this.#byClient.values()) return item
    return undefined
  }

  remove(client: string, item: Item): void {
    const items = this.#byClient.get(client)
    const at = items?.indexOf(item) ?? -1
    if (at >= 0) items?.splice(at, 1)
    if (items?.length === 0) this.#byClient.delete(client)
  }

  /** Removes the next item. Its client's next turn comes after those of all others. */
  next(): Item | undefined {
    for (const [client, items] of this.#byClient) {
      const item = items.shift()
      this.#byClient.delete(client)
      if (items.length > 0) this.#byClient.set(client, items)
      return item
    }
    return undefined
  }
}
