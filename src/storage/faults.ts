import { Faults } from '../lib/system/faults.ts'

/**
 * Fail points. Storage passes `storage.read` and `storage.statement` before each statement, the other
 * `storage` ones once per group or checkpoint. docs/storage.md#what-the-tests-would-notice
 */
const points = [
  'storage.read',
  'storage.statement',
  'storage.before-commit',
  'storage.after-commit',
  'storage.checkpoint',
  'backup.before-rename',
  'restore.before-rename',
] as const
export type FailPoint = (typeof points)[number]

/**
 * What happens at an armed fail point: the engine's error for a full, read-only or broken disk, the sudden end of the
 * writing thread or the process, or a wait until `disarm`.
 */
const failures = {
  full: 'SQLITE_FULL',
  'read-only': 'SQLITE_READONLY',
  io: 'SQLITE_IOERR_WRITE',
  'end-thread': '',
  kill: '',
  hang: '',
}
export type Failure = keyof typeof failures

/** Makes storage slow or failing. */
export class StorageFaults extends Faults<FailPoint, Failure> {
  constructor(shared?: SharedArrayBuffer) {
    super({ points, failures, isLasting: false }, shared)
  }
}
