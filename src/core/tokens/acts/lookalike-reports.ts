import type { LogLine } from '../../../lib/system/log-fields.ts'
import type { Mount } from '../../mounts/mount.ts'
import type { Lookalike } from './issue-login.ts'

export type LookalikeReportParts = {
  readonly log: { readonly warn: LogLine }
  readonly counter: { lookalike(mount: string): void }
  /** The path of a mount with that of its namespace. */
  fullPathOf(mount: Mount): string
}

/** Reports logins with a name that looks like that of another entity. docs/contract/identity.md */
export const lookalikeReports =
  ({ log, counter, fullPathOf }: LookalikeReportParts) =>
  ({ mount, entityId, resembles }: Lookalike): void => {
    const fields = {
      event: 'login_lookalike',
      namespace: mount.namespace,
      mount: mount.path,
      entity_id: entityId,
      resembled_entity_id: resembles,
    }
    log.warn(fields, 'the name of a login looks like the name of another entity')
    counter.lookalike(fullPathOf(mount))
  }
