import { Faults } from '../../lib/system/faults.ts'

/** The fail points of a device, passed once per write. docs/contract/audit.md#what-the-tests-would-notice */
const points = ['audit.before-write', 'audit.after-write'] as const

/**
 * `torn` and `cut`: only a part of the text is written before the disk is full, or the process is killed.
 * `hang`: the write does not return.
 */
const failures = { ENOSPC: 'ENOSPC', EIO: 'EIO', EROFS: 'EROFS', torn: '', cut: '', hang: '', kill: '' }
export type AuditFailure = keyof typeof failures

/** Makes the writes of a device fail. */
export class AuditFaults extends Faults<(typeof points)[number], AuditFailure> {
  constructor(shared?: SharedArrayBuffer) {
    super({ points, failures, isLasting: true }, shared)
  }
}
