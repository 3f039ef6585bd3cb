import type { Registry } from 'prom-client'
import { type Library, registerCounter, registerHistogram } from './instruments.ts'
import { Counter, Histogram } from './counters.ts'

/** A group has at most 256 steps. */
const stepBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Metrics of the storage. Separate from `Metrics`, because the storage opens first. */
export class StorageCounters {
  readonly #seconds = new Histogram()
  readonly #steps = new Histogram(stepBounds)
  readonly #errors = new Counter()

  committed(steps: number, seconds: number): void {
    this.#seconds.observe({}, seconds)
    this.#steps.observe({}, steps)
  }

  failed(kind: string): void {
    this.#errors.add({ kind })
  }

  register(library: Library, registry: Registry): void {
    const seconds = {
      name: 'storage_commit_duration_seconds',
      help: 'Time from the start of a group of writes to the end of its sync',
      labels: [],
    }
    registerHistogram(registry, seconds, this.#seconds)
    const steps = { name: 'storage_commit_steps', help: 'Number of writes in a commit', labels: [] }
    registerHistogram(registry, steps, this.#steps)
    const errors = {
      name: 'storage_errors_total',
      help: 'Failed storage calls and checkpoints',
      labels: ['kind'],
    }
    registerCounter(library, registry, errors, this.#errors)
  }
}
