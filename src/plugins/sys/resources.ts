import type { Resource } from '../../http/resource/resource.ts'
import { afterCeremonyResources } from './after-ceremony.ts'
import { type ApiDocumentParts, apiDocumentResources } from './api-document.ts'
import { type AuditRouteParts, auditResources } from './audit.ts'
import { capabilityResources } from './capabilities.ts'
import { corsResources } from './cors.ts'
import { type CounterParts, counterResources } from './counters.ts'
import { type FixedAnswerParts, fixedAnswerResources } from './fixed-answers.ts'
import { type HaStatusParts, haStatusResources } from './ha-status.ts'
import { type HostInfoParts, hostInfoResources } from './host-info.ts'
import { type InFlightParts, inFlightResources } from './in-flight.ts'
import { keyResources } from './keys.ts'
import { type LeaseRouteParts, leaseResources } from './leases.ts'
import { type LockedUserParts, lockedUserResources } from './locked-users.ts'
import { type LoggerParts, loggerResources } from './loggers.ts'
import { type MonitorParts, monitorResources } from './monitor.ts'
import { type MountRouteParts, mountResources } from './mounts.ts'
import { type NamespaceRouteParts, namespaceResources } from './namespaces.ts'
import { passwordPolicyResources } from './password-policies.ts'
import { policyResources } from './policies.ts'
import { type LeaseCountParts, leaseCountResources } from './quotas/lease-counts.ts'
import { type RateLimitParts, rateLimitResources } from './quotas/rate-limits.ts'
import { type SnapshotParts, snapshotResources } from './snapshot.ts'
import { toolResources } from './tools.ts'
import { uiResources } from './ui.ts'
import { uiHeaderResources } from './ui-headers.ts'
import { type VersionHistoryParts, versionHistoryResources } from './version-history.ts'
import { wrappedCeremonyResources } from './wrapped-ceremonies.ts'
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
