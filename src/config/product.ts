import { z } from 'zod'
import { type Setting, setting } from './setting.ts'

/** A semantic version, because clients parse it. */
const version = z.string().regex(/^\d+\.\d+\.\d+(?:[-+][\w.+-]+)?$/, 'must be a semantic version')

export const productSettings = {
  edition: setting(
    z.enum(['enterprise', 'community']),
    'EDITION',
    'enterprise',
    'enterprise, or community: without custom messages',
  ),
  reportedVersion: setting(version, 'REPORTED_VERSION', '1.16.3+ent', 'version reported to clients'),
} satisfies Record<string, Setting>
