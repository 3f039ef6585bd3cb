import { droppedLinesMetric, gaugeBy, registerGauge } from './instruments.ts'
import { familiesOf, type MetricFamily } from './metric-families.ts'
import { registerRuntimeMetrics } from './runtime.ts'

type WorkerState = { readonly name: string; readonly isServing: boolean; readonly restarts: number }

/** Returns what reads the metrics of the process that supervises workers. docs/monitoring.md#metrics */
export function supervisorMetrics(
  workers: () => readonly WorkerState[],
  droppedLogLines: () => number,
): () => Promise<MetricFamily[]> {
  const by = (name: string, help: string, figure: 'isServing' | 'restarts') =>
    gaugeBy('worker', name, help, () => workers().map((worker) => [worker.name, worker[figure]] as const))
  const load = async () => {
    const library = await import('prom-client')
    const registry = new library.Registry()
    const gauges = [
      by('worker_up', '1 while the worker process serves requests', 'isServing'),
      by('worker_restarts', 'How often the worker process was started again after a crash', 'restarts'),
      droppedLinesMetric(droppedLogLines),
    ]
    for (const one of gauges) registerGauge(library, registry, one)
    registerRuntimeMetrics(library, registry)
    return registry
  }
  let loading: ReturnType<typeof load> | undefined
  return async () => {
    loading ??= load()
    return await familiesOf(await loading)
  }
}
