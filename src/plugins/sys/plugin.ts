import type { Core } from '../../core/open/core.ts'
import type { PluginDefinition } from '../../http/resource/plugin.ts'
import type { Resource } from '../../http/resource/resource.ts'
import { type ApiDocumentParts, apiDocumentResources } from './api-document.ts'
import { auditResources } from './audit.ts'
import { capabilityResources } from './capabilities.ts'
import { corsResources } from './cors.ts'
import { historyResources } from './history.ts'
import { leaseResources } from './leases.ts'
import { lockedUserResources } from './locked-users.ts'
import { type MountRouteParts, mountResources } from './mounts.ts'
import { namespaceResources } from './namespaces.ts'
import { type FixedAnswerParts, fixedAnswerResources } from './node/fixed-answers.ts'
import { type HostInfoParts, hostInfoResources } from './node/host-info.ts'
import { type LoggerParts, loggerResources } from './node/loggers.ts'
import { type MonitorParts, Monitors, monitorResources } from './node/monitor.ts'
import { pluginCatalogResources } from './node/plugin-catalog.ts'
import { type InFlightParts, reportResources } from './node/reports.ts'
import { type SnapshotParts, snapshotResources } from './node/snapshot.ts'
import { passwordPolicyResources } from './password-policies.ts'
import { policyResources } from './policies.ts'
import { policyExplainResource } from './policy-explain.ts'
import { leaseCountResources } from './quotas/lease-counts.ts'
import { rateLimitResources } from './quotas/rate-limits.ts'
import { afterCeremonyResources } from './seal/after-ceremony.ts'
import { type KeyParts, keyResources } from './seal/keys.ts'
import { wrappedCeremonyResources } from './seal/wrapped-ceremonies.ts'
import { toolResources } from './tools.ts'
import { uiHeaderResources } from './ui-headers.ts'
import { wrappingResources } from './wrapping.ts'

export { nodeResources } from './node/node.ts'
export type { HeldKeys, LifeCycle, NodeState } from './node/node-state.ts'

export type SysOptions = FixedAnswerParts &
  HostInfoParts &
  InFlightParts &
  LoggerParts &
  Pick<ApiDocumentParts, 'document'> &
  Pick<KeyParts, 'ownKey'> &
  Pick<MonitorParts, 'watchLog' | 'recentLines'> &
  Pick<MountRouteParts, 'version'> &
  Pick<SnapshotParts, 'takeSnapshot'>

/** The fixed mount `sys/`. */
export const sysPlugin = (options: SysOptions): PluginDefinition => ({
  table: 'secret',
  names: ['system'],
  help: 'The server itself: mounts, policies, leases, audit, quotas, keys and settings. It is built in and cannot be moved or removed.',
  open: (core) => {
    const monitors = new Monitors()
    return { resources: resourcesOf(core, options, monitors), onClosing: () => monitors.endAll() }
  },
})

function resourcesOf(core: Core, options: SysOptions, monitors: Monitors): Resource[] {
  const { mounts, namespaces, history, systemTtl, barrier, log, wrapper, clusterId, tokens, ceremonies } =
    core
  const { version, ownKey, takeSnapshot, watchLog, recentLines, document } = options
  return [
    ...policyResources(core),
    policyExplainResource(core),
    ...passwordPolicyResources(core),
    ...capabilityResources(core),
    ...mountResources({ mounts, namespaces, history, systemTtl, version }),
    ...historyResources(core),
    ...namespaceResources(core),
    ...leaseResources(core),
    ...lockedUserResources(core),
    ...keyResources({ barrier, log, ceremonies, ownKey }),
    ...toolResources(core),
    ...afterCeremonyResources(core),
    ...wrappedCeremonyResources(core),
    ...wrappingResources({ wrapper, log }),
    ...reportResources(core, options),
    ...snapshotResources({ clusterId, takeSnapshot }),
    ...fixedAnswerResources(options),
    ...pluginCatalogResources({ types: core.mountTypes, version }),
    ...hostInfoResources(options),
    ...loggerResources(options),
    ...monitorResources({ watchLog, recentLines, tokens, monitors }),
    ...corsResources(core),
    ...uiHeaderResources(core),
    ...auditResources(core),
    ...rateLimitResources(core),
    ...leaseCountResources(core),
    ...apiDocumentResources({ mounts, document }),
  ]
}
