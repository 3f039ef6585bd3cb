import type { Config } from './config.ts'
import { StartError } from './errors.ts'
import { type ListenAt, Listener, type SharedAddress } from './http/listener.ts'
import { startMetricsListener } from './http/metrics-listener.ts'
import { systemCode } from './lib/private-file.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { ProcessState } from './node-state.ts'

/** Binds the addresses of the server and already serves the one for metrics. Throws a StartError. */
export async function bindListeners(
  { listen, metricsListen }: Config,
  { metrics, state }: { readonly metrics: Metrics; readonly state: ProcessState },
) {
  await using opened = new AsyncDisposableStack()
  const listener = opened.use(
    await bound(
      'LISTEN',
      listen,
      Listener.bind(listen, () => state.startState),
    ),
  )
  const watched = metricsListen && {
    ...metricsListen,
    metrics: async () => (state.hasStarted ? metrics.text() : undefined),
    readiness: () => state.readiness(),
  }
  const watching =
    watched && opened.use(await bound('METRICS_LISTEN', watched, startMetricsListener(watched)))
  const held = opened.move()
  return { listener, watching, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/** The listener of a worker process; its supervisor has bound the addresses. Throws a StartError. */
export async function sharedListener(
  { listen }: Config,
  shared: SharedAddress & { isFirst: boolean },
  state: ProcessState,
) {
  const listener = await bound(
    'LISTEN',
    listen,
    Listener.share(shared, shared.isFirst, () => state.startState),
  )
  return { listener, watching: undefined, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() }
}

/** `setting` names the setting with the address. */
export function bound<T>(setting: string, { host, port }: ListenAt, binding: Promise<T>): Promise<T> {
  return binding.catch((cause: unknown) => {
    const text = `GATEHOUSE_${setting}: cannot listen on ${host}:${port}: ${systemCode(cause)}`
    throw new StartError(2, text, { cause })
  })
}
