import type { Core } from '../../core/open/core.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import type { OperatorSettings } from './config/effective-settings.ts'
import { CloudEngine, type CloudEngineParts } from './engine.ts'
import { cloudGauges } from './gauges.ts'
import { cloudResources } from './resources.ts'
import { confirmedPrefix } from './static-roles/static-role-store.ts'

export { operatorSettings } from './config/operator-settings.ts'

/** How long the engine waits. Tests and benchmarks only. */
export type CloudTimes = Partial<
  Pick<CloudEngineParts, 'limits' | 'pause' | 'patience' | 'requestLimitMs' | 'staticTimes' | 'rotationTimes'>
>

export type CloudOptions = { readonly operator: OperatorSettings; readonly times?: CloudTimes | undefined }

const help =
  'Credentials of the cloud that end with their lease: service principals, secrets of applications, access tokens.'

/** The types `cloud` and `azure`: one engine, two sets of field names. docs/contract/cloud.md */
export function cloudPlugins({
  operator,
  times = {},
}: CloudOptions): [cloud: PluginDefinition, azure: PluginDefinition] {
  // each unsealing opens another core
  const engines = new WeakMap<Core, CloudEngine>()
  const engineOver = (core: Core) => {
    const engine = engines.get(core) ?? new CloudEngine({ ...core, operator, ...times })
    engines.set(core, engine)
    return engine
  }
  const open = (type: 'cloud' | 'azure') => (core: Core) => {
    const engine = engineOver(core)
    return {
      resources: cloudResources({ engine, type }),
      leases: engine.credentials,
      identityTokenUses: engine.identityTokenUses.bind(engine),
      clear: engine.clear.bind(engine),
      empty: engine.empty.bind(engine),
    }
  }
  return [
    {
      table: 'secret',
      names: ['cloud'],
      hasIdentityTokens: true,
      usedOnce: [confirmedPrefix],
      help,
      open: (core) => ({
        ...open('cloud')(core),
        gauges: cloudGauges(engineOver(core)),
        start: () => engineOver(core).start(),
        [Symbol.asyncDispose]: () => engineOver(core)[Symbol.asyncDispose](),
      }),
    },
    {
      table: 'secret',
      names: ['azure'],
      hasIdentityTokens: true,
      usedOnce: [confirmedPrefix],
      help,
      open: open('azure'),
    },
  ]
}
