import type { HistoryStore } from '../../core/history/history-store.ts'
import type { Core } from '../../core/open/core.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import type { Resource } from '../../http/resource/resource.ts'
import { configResources } from './config/config-resources.ts'
import type { OperatorSettings } from './config/effective-settings.ts'
import { credentialResources } from './credentials/credential-resources.ts'
import { CloudEngine, type CloudEngineParts } from './engine.ts'
import { tokenResource } from './federation/token-resource.ts'
import { type FieldNames, fieldNames } from './field-names.ts'
import { cloudGauges } from './gauges.ts'
import { poolResource } from './pool/pool-resource.ts'
import { poolPrefix } from './pool/pool-store.ts'
import { roleResources } from './roles/role-resources.ts'
import { staticRoleResources } from './static-roles/static-role-resources.ts'
import { confirmedPrefix } from './static-roles/static-role-store.ts'

export { operatorSettings } from './config/operator-settings.ts'

/** How long the engine waits. Tests and benchmarks only. */
export type CloudTimes = Partial<
  Pick<
    CloudEngineParts,
    'limits' | 'pause' | 'patience' | 'requestLimitMs' | 'staticTimes' | 'rotationTimes' | 'poolTimes'
  >
>

export type CloudOptions = { readonly operator: OperatorSettings; readonly times?: CloudTimes | undefined }

const help =
  'Credentials of the cloud that end with their lease: service principals, secrets of applications, access tokens.'

/** The resources of mounts of one type. docs/contract/cloud.md#paths */
const cloudResources = (engine: CloudEngine, history: HistoryStore, names: FieldNames): Resource[] => [
  ...configResources(engine, history, names),
  ...roleResources(engine, history, names),
  ...credentialResources(engine),
  poolResource(engine),
  tokenResource(engine.federated),
  ...staticRoleResources(engine, history),
]

/** What the engine uses of the core. */
const used = (core: Core) => {
  const { clock, random, log, jobs, servers, mounts, mountTokens, outbound, leases, systemTtl } = core
  const { fullPathOf } = core
  return { clock, random, log, jobs, servers, mounts, mountTokens, outbound, leases, systemTtl, fullPathOf }
}

/** The types `cloud` and `azure`: one engine, two sets of field names. docs/contract/cloud.md */
export function cloudPlugins({
  operator,
  times = {},
}: CloudOptions): [cloud: PluginDefinition, azure: PluginDefinition] {
  // each unsealing opens another core
  const engines = new WeakMap<Core, CloudEngine>()
  const engineOver = (core: Core) => {
    const engine = engines.get(core) ?? new CloudEngine({ ...used(core), operator, ...times })
    engines.set(core, engine)
    return engine
  }
  const open = (type: 'cloud' | 'azure') => (core: Core) => {
    const engine = engineOver(core)
    return {
      resources: cloudResources(engine, core.history, fieldNames[type]),
      leases: engine.credentials,
      identityTokenUses: engine.identityTokenUses.bind(engine),
      clear: engine.clear.bind(engine),
      empty: engine.empty.bind(engine),
    }
  }
  const common = {
    table: 'secret',
    hasIdentityTokens: true,
    usedOnce: [confirmedPrefix, poolPrefix],
    help,
  } as const
  return [
    {
      ...common,
      names: ['cloud'],
      open: (core) => ({
        ...open('cloud')(core),
        gauges: cloudGauges(engineOver(core)),
        start: () => engineOver(core).start(),
        [Symbol.asyncDispose]: () => engineOver(core)[Symbol.asyncDispose](),
      }),
    },
    { ...common, names: ['azure'], open: open('azure') },
  ]
}
