import type { UpstreamWork } from '../upstream-work.ts'

/** What a rotation of the root credential needs. */
export type RotationWork = Omit<UpstreamWork, 'upstream' | 'serviceManagementReference'>
