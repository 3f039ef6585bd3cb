import type { PluginDefinition } from '../../http/plugin.ts'
import type { Core } from '../../core/core.ts'
import { type MetricsRouteParts, metricsResource } from './metrics.ts'
import { type NodeState, type NodeStateParts, nodeStateResources } from './node-state.ts'
import { checkMetricsReader, checkSudo } from './node-access.ts'
import { type SysParts, sysResources } from './resources.ts'

export type { NodeState } from './node-state.ts'

export type SysOptions = Pick<SysParts, 'document' | 'version'> &
  Pick<NodeStateParts, 'jsonLimits'> &
  Pick<MetricsRouteParts, 'metrics'> & {
    readonly metricsAccess: MetricsRouteParts['access']
    nodeState(core: Core): NodeState
  }

/** The fixed mount `sys/`, and the paths outside of mounts. */
export const sysPlugin = ({
  metrics,
  metricsAccess,
  nodeState,
  ...options
}: SysOptions): PluginDefinition => ({
  table: 'secret',
  names: ['system'],
  open: (core) => ({
    resources: sysResources({
      ...core,
      ...options,
      onInvalid: ({ path, remoteAddress, requestId }) =>
        core.log.warn(
          { event: 'wrapping_token_invalid', path, remote_address: remoteAddress, request_id: requestId },
          'an invalid wrapping token was used',
        ),
    }),
    node: [
      ...nodeStateResources({
        ...options,
        state: nodeState(core),
        seal: async (exchange) => {
          await checkSudo(core, exchange)
          core.seal()
          core.log.warn({ event: 'sealed' }, 'sealed: no data can be read until the next start')
        },
      }),
      metricsResource({
        metrics,
        access: metricsAccess,
        authorize: (exchange) => checkMetricsReader(core, exchange),
        now: () => core.clock.now(),
      }),
    ],
  }),
})
