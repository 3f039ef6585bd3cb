import type { PluginDefinition } from '../../http/plugin.ts'
import { Monitors } from './monitor.ts'
import { type SysParts, sysResources } from './resources.ts'

export { nodeResources } from './node.ts'
export type { LifeCycle, NodeState } from './node-state.ts'

export type SysOptions = Pick<
  SysParts,
  | 'document'
  | 'version'
  | 'takeSnapshot'
  | 'staticKey'
  | 'databasePath'
  | 'requestsInProgress'
  | 'logLevels'
  | 'watchLog'
  | 'recentLines'
>

/** The fixed mount `sys/`. */
export const sysPlugin = (options: SysOptions): PluginDefinition => ({
  table: 'secret',
  names: ['system'],
  open: (core) => {
    const monitors = new Monitors()
    return {
      resources: sysResources({
        ...core,
        ...options,
        monitors,
        onInvalid: ({ path, remoteAddress, requestId }) =>
          core.log.warn(
            { event: 'unwrap_refused', path, remote_address: remoteAddress, request_id: requestId },
            'an invalid wrapping token was used',
          ),
      }),
      onClosing: () => monitors.endAll(),
    }
  },
})
