import type { Resource } from '../../http/resource/resource.ts'
import { type ApiDocumentParts, apiDocumentResources } from './api-document.ts'
import { type AuditRouteParts, auditResources } from './audit.ts'
import { capabilityResources } from './capabilities.ts'
import { corsResources } from './cors.ts'
import { type LeaseRouteParts, leaseResources } from './leases.ts'
import { type LockedUserParts, lockedUserResources } from './locked-users.ts'
import { type MountRouteParts, mountResources } from './mounts.ts'
import { type NamespaceRouteParts, namespaceResources } from './namespaces.ts'
import { type CounterParts, counterResources } from './node/counters.ts'
import { type FixedAnswerParts, fixedAnswerResources } from './node/fixed-answers.ts'
import { type HaStatusParts, haStatusResources } from './node/ha-status.ts'
import { type HostInfoParts, hostInfoResources } from './node/host-info.ts'
import { type InFlightParts, inFlightResources } from './node/in-flight.ts'
import { type LoggerParts, loggerResources } from './node/loggers.ts'
import { type MonitorParts, monitorResources } from './node/monitor.ts'
import { type SnapshotParts, snapshotResources } from './node/snapshot.ts'
import { type VersionHistoryParts, versionHistoryResources } from './node/version-history.ts'
import { passwordPolicyResources } from './password-policies.ts'
import { policyResources } from './policies.ts'
import { type LeaseCountParts, leaseCountResources } from './quotas/lease-counts.ts'
import { type RateLimitParts, rateLimitResources } from './quotas/rate-limits.ts'
import { afterCeremonyResources } from './seal/after-ceremony.ts'
import { keyResources } from './seal/keys.ts'
import { wrappedCeremonyResources } from './seal/wrapped-ceremonies.ts'
import { toolResources } from './tools.ts'
import { uiResources } from './ui.ts'
import { uiHeaderResources } from './ui-headers.ts'
import { type WrappingParts, wrappingResources } from './wrapping.ts'

export type SysParts = MountRouteParts &
  NamespaceRouteParts &
  LeaseRouteParts &
  WrappingParts &
  CounterParts &
  SnapshotParts &
  HaStatusParts &
  FixedAnswerParts &
  HostInfoParts &
  InFlightParts &
  LockedUserParts &
  LoggerParts &
  MonitorParts &
  VersionHistoryParts &
  ApiDocumentParts &
  AuditRouteParts &
  RateLimitParts &
  LeaseCountParts &
  Parameters<typeof corsResources>[0] &
  Parameters<typeof uiHeaderResources>[0] &
  Parameters<typeof policyResources>[0] &
  Parameters<typeof passwordPolicyResources>[0] &
  Parameters<typeof capabilityResources>[0] &
  Parameters<typeof keyResources>[0] &
  Parameters<typeof toolResources>[0] &
  Parameters<typeof afterCeremonyResources>[0]

/** The fixed paths below `sys/`. */
export function sysResources(parts: SysParts): Resource[] {
  return [
    ...policyResources(parts),
    ...passwordPolicyResources(parts),
    ...capabilityResources(parts),
    ...mountResources(parts),
    ...namespaceResources(parts),
    ...leaseResources(parts),
    ...lockedUserResources(parts),
    ...uiResources(),
    ...keyResources(parts),
    ...toolResources(parts),
    ...afterCeremonyResources(parts),
    ...wrappedCeremonyResources(parts),
    ...wrappingResources(parts),
    ...counterResources(parts),
    ...snapshotResources(parts),
    ...haStatusResources(parts),
    ...fixedAnswerResources(parts),
    ...hostInfoResources(parts),
    ...inFlightResources(parts),
    ...loggerResources(parts),
    ...monitorResources(parts),
    ...versionHistoryResources(parts),
    ...corsResources(parts),
    ...uiHeaderResources(parts),
    ...auditResources(parts),
    ...rateLimitResources(parts),
    ...leaseCountResources(parts),
    ...apiDocumentResources(parts),
  ]
}
