import type { Clock } from '../../lib/system/clock.ts'
import type { Random } from '../../lib/system/random.ts'
import type { View } from '../barrier/view.ts'
import type { CoreLog } from '../core-log.ts'
import { AuditLog, type AuditLogParts } from './audit-log.ts'
import { AuditedHeaders } from './audited-headers.ts'
import { AuditChainKeys, type StoredHead } from './chain-keys.ts'
import { type DeviceSettings, openDevice } from './device.ts'

/** docs/settings.md */
export type AuditSettings = Pick<AuditLogParts, 'fixed' | 'isOpenToApi' | 'limits' | 'version'> &
  Pick<DeviceSettings, 'sync'> & { readonly replica: string }

type Parts = Pick<AuditLogParts, 'onWrite' | 'shared'> & {
  /** The core's view. */
  readonly view: View
  readonly clock: Clock
  readonly random: Random
  readonly log: CoreLog
}

/** Without settings no device can be enabled. */
const closed: AuditSettings = {
  fixed: [],
  isOpenToApi: false,
  version: '',
  sync: 'interval',
  replica: '',
  limits: { directories: [], hosts: [] },
}

/**
 * Opens the audit log: its devices with their chains, and which request headers its entries show.
 * docs/contract/audit.md
 */
export async function openAudit(settings: AuditSettings = closed, parts: Parts) {
  const { replica, sync } = settings
  const { log: coreLog, clock } = parts
  const view = parts.view.view('audit/')
  const onUnreadable = (err: unknown) =>
    coreLog.error(
      { event: 'record_unreadable', err },
      'could not read what another server has written about the audit log',
    )
  const headers = await AuditedHeaders.open({ view, onUnreadable })
  const chains = await AuditChainKeys.open({ view, clock, onUnreadable })
  const partsOf = async (path: string) => ({
    replica,
    clock,
    log: coreLog,
    sign: (text: string) => chains.sign(text),
    chainHead: await chains.headOf(path, replica),
    storeHead: (head: StoredHead) => chains.storeHead(path, replica, head),
  })
  const log = await AuditLog.open({
    ...settings,
    ...parts,
    view,
    onUnreadable,
    forget: (path) => chains.forget(path),
    forgetOwn: (path) => chains.forgetOne(path, replica),
    open: async ({ path, target }) => openDevice({ path, target, sync }, await partsOf(path)),
  })
  return { log, headers, chains, replica, [Symbol.asyncDispose]: () => log[Symbol.asyncDispose]() }
}
