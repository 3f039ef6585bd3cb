import type { PluginDefinition } from '../../http/resource/plugin.ts'
import { cubbyholeResources } from './resources.ts'

/** The fixed mount `cubbyhole/`. docs/contract/wrapping.md#cubbyhole */
export const cubbyholePlugin: PluginDefinition = {
  table: 'secret',
  names: ['cubbyhole'],
  help: 'Secrets of one token, which nobody else can read and which end with it. It is built in and cannot be removed.',
  open: ({ cubbyholes, tokens }) => ({ resources: cubbyholeResources({ cubbyholes, tokens }) }),
}
