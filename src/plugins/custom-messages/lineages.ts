import type { Namespace } from '../../core/namespaces/namespace.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { MessageStore } from './message-store.ts'

/**
 * What is made of the messages of a namespace and of those above it is valid until a message in `lineage` changes or the
 * clock leaves the period from `madeAtMs` to `endsAtMs`.
 */
export type Stamp = {
  /** Ids of the namespace and those above, the root last: the order in which messages are shown. */
  readonly lineage: readonly string[]
  readonly versions: readonly number[]
  readonly madeAtMs: number
  readonly endsAtMs: number
}

export type LineageParts = {
  readonly messages: Pick<MessageStore, 'version'>
  readonly namespaces: Pick<NamespaceStore, 'lineageOf'>
  readonly clock: Clock
}

/** Tells whether what was made of messages is still valid. */
export class Lineages {
  readonly #parts: LineageParts

  constructor(parts: LineageParts) {
    this.#parts = parts
  }

  /** Take it before the messages are read: a change in between then ends it. It has no end yet. */
  stamp(namespace: Namespace): Stamp {
    const lineage = this.of(namespace)
    return {
      lineage,
      versions: lineage.map((id) => this.#parts.messages.version(id)),
      madeAtMs: this.#parts.clock.now(),
      endsAtMs: Number.POSITIVE_INFINITY,
    }
  }

  isCurrent({ lineage, versions, madeAtMs, endsAtMs }: Stamp): boolean {
    const { clock, messages } = this.#parts
    const now = clock.now()
    return (
      now >= madeAtMs &&
      now < endsAtMs &&
      lineage.every((id, index) => messages.version(id) === versions[index])
    )
  }

  of(namespace: Namespace): readonly string[] {
    return this.#parts.namespaces
      .lineageOf(namespace)
      .map(({ id }) => id)
      .reverse()
  }
}
