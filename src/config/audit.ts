import { z } from 'zod'
import { parsedJson } from '../lib/text/json.ts'
import { type Setting, secret, setting } from './setting.ts'
import { flag, hosts, list } from './values.ts'

const auditDevice = z.strictObject({
  path: z.string().regex(/^[\w.-]+(?:\/[\w.-]+)*\/?$/, 'path: must be a path like file'),
  type: z.string(),
  description: z.string().default(''),
  options: z.record(z.string(), z.string()).default({}),
})

/** Whether types and options are valid is up to the audit log, which knows them. */
const auditDevices = z.string().transform((text, context) => {
  const parsed = z.array(auditDevice).safeParse(parsedJson(text))
  if (!parsed.success) {
    const [issue] = parsed.error.issues
    // the text is secret: name the place, not the value
    const place = issue?.path.join('.') ?? ''
    context.addIssue(
      place === '' ? 'must be a JSON list of audit devices' : `${place}: is missing or invalid`,
    )
    return z.NEVER
  }
  const devices = parsed.data.map(({ path, ...device }) => ({
    ...device,
    path: path.endsWith('/') ? path : `${path}/`,
    local: false,
  }))
  const isTaken = ({ path }: { path: string }, at: number) =>
    devices.some((other, index) => index !== at && other.path.startsWith(path))
  if (devices.some(isTaken)) context.addIssue('the path of one device begins with another')
  return devices
})

export const auditSettings = {
  audit: secret(
    auditDevices,
    'AUDIT',
    'audit devices as a JSON list of {"path","type","description","options"}, which the API can only read; or in a file named by GATEHOUSE_AUDIT_FILE',
  ),
  auditApi: setting(flag, 'AUDIT_API', 'true', 'whether the API may enable and disable audit devices'),
  auditDirs: setting(list, 'AUDIT_DIRS', 'data/audit', 'folders that audit devices may write files to'),
  auditHttpHosts: setting(
    hosts,
    'AUDIT_HTTP_HOSTS',
    '',
    'list of host:port that audit devices may send entries to',
  ),
  auditSync: setting(
    z.enum(['interval', 'always']),
    'AUDIT_SYNC',
    'interval',
    'interval: an entry is written before the response, and synced within a second; always: synced before the response',
  ),
} satisfies Record<string, Setting>
