import type { Registry } from 'prom-client'
import { Counter, durationBounds, Histogram } from './counters.ts'
import { type Library, registerCounter, registerHistogram } from './instruments.ts'

/** A group has at most 256 steps. */
const stepBounds = [1, 2, 4, 8, 16, 32, 64, 128, 256]

/** Upper bounds in seconds: a read takes microseconds, a write waits for the disk. */
const operationBounds = [
  0.000_01, 0.000_05, 0.000_1, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5,
]

/** They are shown from the start: alerts wait for the first error. */
const errorKinds = ['corrupt', 'record', 'full', 'read_only', 'io', 'checkpoint', 'replaced', 'other']

/** Metrics of the storage. Separate from `Metrics`, because the storage opens first. */
export class StorageCounters {
  readonly #operations = new Histogram(operationBounds)
  readonly #seconds = new Histogram(durationBounds)
  readonly #steps = new Histogram(stepBounds)
  readonly #errors = new Counter(errorKinds.map((kind) => ({ kind })))

  operated(operation: string, seconds: number): void {
    this.#operations.observe({ operation }, seconds)
  }

  committed(steps: number, seconds: number): void {
    this.#seconds.observe({}, seconds)
    this.#steps.observe({}, steps)
  }

  failed(kind: string): void {
    this.#errors.add({ kind })
  }

  register(library: Library, registry: Registry): void {
    const operations = {
      name: 'storage_operation_duration_seconds',
      help: 'Duration of storage calls that succeed; of a write, until it is durable',
      labels: ['operation'],
    }
    registerHistogram(registry, operations, this.#operations)
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
