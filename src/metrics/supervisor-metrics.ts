import type { Registry } from 'prom-client'
import { droppedLinesMetric, gaugeBy, registerGauge } from './instruments.ts'
import { familiesOf, type MetricFamily } from './metric-families.ts'
import { registerRuntimeMetrics } from './runtime.ts'

type WorkerState = { readonly name: string; readonly isServing: boolean; readonly restarts: number }

/** The metrics of the process that supervises workers. docs/monitoring.md#metrics */
export class SupervisorMetrics {
  readonly #workers: () => readonly WorkerState[]
  readonly #droppedLogLines: () => number
  #registry: Registry | undefined

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
    const by = (name: string, help: string, figure: 'isServing' | 'restarts') =>
      gaugeBy('worker', name, help, () =>
        this.#workers().map((worker) => [worker.name, worker[figure]] as const),
      )
    const gauges = [
      by('worker_up', '1 while the worker process serves requests', 'isServing'),
      by('worker_restarts', 'How often the worker process was started again after a crash', 'restarts'),
      droppedLinesMetric(this.#droppedLogLines),
    ]
    for (const one of gauges) registerGauge(library, registry, one)
    registerRuntimeMetrics(library, registry)
    return registry
  }
}
