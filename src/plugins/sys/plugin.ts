import type { PluginDefinition } from '../../http/plugin.ts'
import { type SysParts, sysResources } from './resources.ts'

export { nodeResources } from './node.ts'
export type { LifeCycle, NodeState } from './node-state.ts'

export type SysOptions = Pick<SysParts, 'document' | 'version' | 'takeSnapshot' | 'staticKey'>

/** The fixed mount `sys/`. */
export const sysPlugin = (options: SysOptions): PluginDefinition => ({
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
  }),
})
