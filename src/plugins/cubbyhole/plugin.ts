import { LongLists } from '../../core/long-lists.ts'
import type { PluginDefinition } from '../../http/plugin.ts'
import { cubbyholeResources } from './resources.ts'

/** The fixed mount `cubbyhole/`. docs/contract/wrapping.md#cubbyhole */
export const cubbyholePlugin: PluginDefinition = {
  table: 'secret',
  names: ['cubbyhole'],
  open: (core) => ({ resources: cubbyholeResources({ ...core, longLists: new LongLists() }) }),
}
