import type { Registry } from 'prom-client'
import { type Library, showCounts, showSpans } from './instruments.ts'
import { Counter, Histogram } from './counters.ts'

/** A group takes at most 256 steps. */
const stepBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/**
 * What happened to the storage, from its start on. It is opened before anything else, so it has counters of
 * its own.
 */
export class StorageCounters {
  readonly #seconds = new Histogram()
  readonly #steps = new Histogram(stepBounds)
  readonly #errors = new Counter()

  committed(steps: number, seconds: number): void {
    this.#seconds.add({}, seconds)
    this.#steps.add({}, steps)
  }

  failed(kind: string): void {
    this.#errors.add({ kind })
  }

  show(library: Library, registry: Registry): void {
    const seconds = {
      name: 'storage_commit_duration_seconds',
      help: 'From the start of a group of writes to the end of its sync',
      labels: [],
    }
    showSpans(registry, seconds, this.#seconds)
    const steps = { name: 'storage_commit_steps', help: 'Writes that shared one commit', labels: [] }
    showSpans(registry, steps, this.#steps)
    const errors = {
      name: 'storage_errors_total',
      help: 'Calls of the storage that failed, and checkpoints',
      labels: ['kind'],
    }
    showCounts(library, registry, errors, this.#errors)
  }
}
