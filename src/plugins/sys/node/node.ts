import type { NodeResource } from '../../../http/resource/node-resource.ts'
import { type CeremonyRouteParts, ceremonyResources } from './ceremonies.ts'
import { type InitParts, initResource } from './init.ts'
import { type MetricsRouteParts, metricsResource } from './metrics.ts'
import { checkMetricsReader, checkSudo, unsealed } from './node-access.ts'
import { nodeStateResources } from './node-state.ts'

type NodeOptions = InitParts &
  Pick<CeremonyRouteParts, 'openCeremonies'> &
  Pick<MetricsRouteParts, 'metrics'> & { readonly metricsAccess: MetricsRouteParts['access'] }

/** The paths outside of mounts, which are also served while the server is sealed. */
export function nodeResources(options: NodeOptions): NodeResource[] {
  const { state, metrics, metricsAccess } = options
  const { life } = state
  return [
    ...nodeStateResources({ ...options, checkSealer: (exchange) => checkSudo(life.core, exchange) }),
    initResource(options),
    ...ceremonyResources({ ...options, core: () => unsealed(life.core) }),
    metricsResource({
      metrics,
      access: metricsAccess,
      authorize: (exchange) => checkMetricsReader(life.core, exchange),
      now: () => state.now(),
    }),
  ]
}
