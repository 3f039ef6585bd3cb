import { shownPath, tableOf } from '../core/mounts/mount-path.ts'
import { type Setting, setting } from './setting.ts'
import { count, lifetime, list, positive } from './values.ts'

/** Whether the types exist is up to the server, which knows them. */
const mounts = list.transform((items, context) =>
  items.map((item) => {
    const [path = '', type = '', ...rest] = item.split('=')
    const table = tableOf(path)
    if (path === '' || type === '' || rest.length > 0)
      context.addIssue(`"${item}" is not a valid PATH=TYPE of a mount`)
    return { table, path: shownPath({ table, path }), type }
  }),
)

export const mountSettings = {
  defaultMounts: setting(
    mounts,
    'DEFAULT_MOUNTS',
    'auth/jwt=jwt,cloud=cloud',
    'mounts created at the first start, as a list of PATH=TYPE; empty: none. npm run dev adds secret=kv-v2',
  ),
  defaultLeaseTtlMs: setting(
    lifetime,
    'DEFAULT_LEASE_TTL',
    '768h',
    'lifetime of tokens and leases that request none',
  ),
  maxLeaseTtlMs: setting(lifetime, 'MAX_LEASE_TTL', '768h', 'maximum lifetime, unless a mount has its own'),
  historyVersions: setting(
    count.refine((versions) => versions <= 100, 'must be at most 100'),
    'HISTORY_VERSIONS',
    '20',
    'how many changes of each configuration object are kept, to be looked at and taken back; 0: none',
  ),
  historyDays: setting(
    positive(count).refine((days) => days <= 3650, 'must be at most 3650'),
    'HISTORY_DAYS',
    '90',
    'how many days a change of the configuration is kept',
  ),
} satisfies Record<string, Setting>
