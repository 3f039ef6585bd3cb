import { z } from 'zod'
import type { Mount } from '../../core/mounts/mount.ts'
import { checkMayReach, type Resource, resource } from '../../http/resource/resource.ts'
import type { LogLine } from '../../lib/system/log-fields.ts'
import { boolField } from '../../lib/text/fields.ts'
import { keysAnswer } from './shown-keys.ts'
import type { AlertKind, KeyAlert } from './timeline.ts'

type ReportParts = {
  readonly log: { readonly warn: LogLine }
  readonly counter: { keyAlert(mount: string, kind: AlertKind): void }
  /** The path of a mount with that of its namespace. */
  fullPathOf(mount: Mount): string
}

/** Logs and counts alerts. docs/contract/key-sources.md#alerts */
export const keyAlertReports =
  ({ log, counter, fullPathOf }: ReportParts) =>
  (mount: Mount, { kind, text }: KeyAlert, url: string): void => {
    const path = fullPathOf(mount)
    counter.keyAlert(path, kind)
    log.warn({ event: 'key_alert', mount: path, kind, url, detail: text }, 'keys of an issuer need a look')
  }

const keysInput = z.object({ refresh: boolField.describe('Fetch discovery document and keys now') })

/** `keys`. docs/contract/key-sources.md#the-timeline */
export const keysResource = (read: (mount: Mount, refresh: boolean) => Promise<object>): Resource =>
  resource('/keys', {
    help: 'The keys of the sources since they are known, fetches, and alerts.',
    read: {
      summary: 'Read the timeline of the keys',
      ...keysAnswer,
      input: keysInput,
      handle: async (exchange) => {
        checkMayReach(exchange, { operation: 'read', path: 'config' })
        return { data: await read(exchange.mount, exchange.input.refresh) }
      },
    },
  })
