import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { Monitors } from './node/monitor.ts'
import { type SysParts, sysResources } from './resources.ts'

export { nodeResources } from './node/node.ts'
export type { LifeCycle, NodeState } from './node/node-state.ts'

export type SysOptions = Pick<
  SysParts,
  | 'document'
  | 'version'
  | 'shownSettings'
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
  help: 'The server itself: mounts, policies, leases, audit, quotas, keys and settings. It is built in and cannot be moved or removed.',
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
