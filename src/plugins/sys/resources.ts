import type { Resource } from '../../http/resource.ts'
import { afterCeremonyResources } from './after-ceremony.ts'
import { type ApiDocumentParts, apiDocumentResources } from './api-document.ts'
import { type AuditRouteParts, auditResources } from './audit.ts'
import { capabilityResources } from './capabilities.ts'
import { corsResources } from './cors.ts'
import { type CounterParts, counterResources } from './counters.ts'
import { keyResources } from './keys.ts'
import { type LeaseRouteParts, leaseResources } from './leases.ts'
import { type MountRouteParts, mountResources } from './mounts.ts'
import { type NamespaceRouteParts, namespaceResources } from './namespaces.ts'
import { policyResources } from './policies.ts'
import { type QuotaRouteParts, quotaResources } from './quotas.ts'
import { type SnapshotParts, snapshotResources } from './snapshot.ts'
import { toolResources } from './tools.ts'
import { uiResources } from './ui.ts'
import { wrappedCeremonyResources } from './wrapped-ceremonies.ts'
import { type WrappingParts, wrappingResources } from './wrapping.ts'

export type SysParts = MountRouteParts &
  NamespaceRouteParts &
  LeaseRouteParts &
  WrappingParts &
  CounterParts &
  SnapshotParts &
  ApiDocumentParts &
  AuditRouteParts &
  QuotaRouteParts &
  Parameters<typeof corsResources>[0] &
  Parameters<typeof policyResources>[0] &
  Parameters<typeof capabilityResources>[0] &
  Parameters<typeof keyResources>[0] &
  Parameters<typeof toolResources>[0] &
  Parameters<typeof afterCeremonyResources>[0]

/** The fixed paths below `sys/`. */
export function sysResources(parts: SysParts): Resource[] {
  return [
    ...policyResources(parts),
    ...capabilityResources(parts),
    ...mountResources(parts),
    ...namespaceResources(parts),
    ...leaseResources(parts),
    ...uiResources(),
    ...keyResources(parts),
    ...toolResources(parts),
    ...afterCeremonyResources(parts),
    ...wrappedCeremonyResources(parts),
    ...wrappingResources(parts),
    ...counterResources(parts),
    ...snapshotResources(parts),
    ...corsResources(parts),
    ...auditResources(parts),
    ...quotaResources(parts),
    ...apiDocumentResources(parts),
  ]
}
