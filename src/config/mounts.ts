import { shownPath, tableOf } from '../core/mounts/mount-path.ts'
import { type Setting, setting } from './setting.ts'
import { lifetime, list } from './values.ts'

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
} satisfies Record<string, Setting>
