import { listenAddresses } from '../config/connections.ts'
import type { Config } from '../config/settings.ts'
import { StartError } from '../errors.ts'
import { ListenError } from '../http/wire/listen-address.ts'
import { Listener } from '../http/wire/listener.ts'
import { startMetricsListener } from '../http/wire/metrics-listener.ts'
import type { SharedDoors } from '../http/wire/shared-addresses.ts'
import { startingServer } from '../http/wire/starting-server.ts'
import type { Metrics } from '../metrics/metrics.ts'
import type { ProcessState } from './node-state.ts'
import type { ServedFiles } from './served-files.ts'

/** Binds the addresses of the server and already serves the one for metrics. Throws a StartError. */
export async function bindListeners(
  config: Config,
  given: { readonly metrics: Metrics; readonly state: ProcessState; readonly files: ServedFiles },
) {
  const { metricsListen, ui } = config
  const { metrics, state, files } = given
  const scheme = files.tls === undefined ? 'http' : 'https'
  const starting = startingServer(() => state.startState, { ...files, ui })
  await using opened = new AsyncDisposableStack()
  const listener = opened.use(await bound('LISTEN', Listener.bind(listenAddresses(config), scheme, starting)))
  const watched = metricsListen && {
    ...metricsListen,
    metrics: async () => (state.hasStarted ? metrics.text() : undefined),
    readiness: () => state.readiness(),
  }
  const watching = watched && opened.use(await bound('METRICS_LISTEN', startMetricsListener(watched)))
  const held = opened.move()
  return { listener, watching, [Symbol.asyncDispose]: () => held.disposeAsync() }
}

/** The listener of a worker process; its supervisor has bound the addresses. Throws a StartError. */
export async function sharedListener(
  shared: SharedDoors & { isFirst: boolean },
  { state, files, ui }: { readonly state: ProcessState; readonly files: ServedFiles; readonly ui: boolean },
) {
  const starting = startingServer(() => state.startState, { ...files, ui })
  const listener = await bound('LISTEN', Listener.share(shared, shared.isFirst, starting))
  return { listener, watching: undefined, [Symbol.asyncDispose]: () => listener[Symbol.asyncDispose]() }
}

/** `setting` names the setting with the address. */
export function bound<T>(setting: string, binding: Promise<T>): Promise<T> {
  return binding.catch((cause: unknown) => {
    if (cause instanceof ListenError)
      throw new StartError(2, `GATEHOUSE_${setting}: ${cause.message}`, { cause })
    throw cause
  })
}
