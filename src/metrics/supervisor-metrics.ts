import type { Registry } from 'prom-client'
import { type Reading, registerGauge } from './instruments.ts'
import { familiesOf, type MetricFamily } from './metric-families.ts'
import { registerRuntimeMetrics } from './runtime.ts'
import { droppedLinesMetric } from './server-gauges.ts'

type WorkerState = { readonly name: string; readonly isServing: boolean; readonly restarts: number }

/** The metrics of the process that supervises workers. docs/monitoring.md#metrics */
export class SupervisorMetrics {
  readonly #workers: () => readonly WorkerState[]
  #registry: Registry | undefined

  readonly #droppedLogLines: () => number

  constructor(workers: () => readonly WorkerState[], droppedLogLines: () => number) {
    this.#workers = workers
    this.#droppedLogLines = droppedLogLines
  }

  async families(): Promise<MetricFamily[]> {
    this.#registry ??= await this.#load()
    return await familiesOf(this.#registry)
  }

  async #load(): Promise<Registry> {
    const library = await import('prom-client')
    const registry = new library.Registry()
    const read = (figure: (worker: WorkerState) => number): Reading =>
      this.#workers().map((worker) => ({ labels: { worker: worker.name }, value: figure(worker) }))
    registerGauge(library, registry, {
      name: 'worker_up',
      help: '1 while the worker process serves requests',
      labels: ['worker'],
      read: () => read(({ isServing }) => Number(isServing)),
    })
    registerGauge(library, registry, {
      name: 'worker_restarts',
      help: 'How often the worker process was started again after a crash',
      labels: ['worker'],
      read: () => read(({ restarts }) => restarts),
    })
    registerGauge(library, registry, droppedLinesMetric(this.#droppedLogLines))
    registerRuntimeMetrics(library, registry)
    return registry
  }
}
