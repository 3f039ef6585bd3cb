import type { MountOptions } from '../../../core/mounts/mount.ts'
import type { MountVersions } from '../../../core/mounts/mount-type.ts'
import { refuse } from '../../../errors.ts'
import { parseWholeNumber } from '../../../lib/text/go-numbers.ts'

/** The plugins of the two versions: the names of their mount types. */
export const firstPlugin = 'kv'
export const secondPlugin = 'kv-v2'

/** The version in the options of a stored mount. */
const versionIn = (options: MountOptions): 1 | 2 => (options?.['version'] === '2' ? 2 : 1)

function checkLeasing(options: MountOptions): void {
  if ((options?.['leased_passthrough'] ?? '') !== '')
    throw refuse('invalid', 'leased_passthrough is not supported')
}

/** Mounts of the old type are of version 1. */
function checkHasVersions(type: string, options: MountOptions): void {
  if (type === 'generic' && (options?.['version'] ?? '') !== '')
    throw refuse('invalid', 'secrets engine "generic" does not allow setting a version')
}

/** Types and versions of mounts. docs/contract/kv.md#mounts */
export const kvVersions: MountVersions = {
  ofNew: (type, sent) => {
    checkLeasing(sent)
    checkHasVersions(type, sent)
    if (type === 'kv-v1' || type === 'kv-v2')
      return { type: 'kv', options: { ...sent, version: type === 'kv-v1' ? '1' : '2' } }
    if (!['', '1', '2'].includes(sent?.['version'] ?? ''))
      throw refuse('invalid', 'nil backend of type "kv" returned from factory')
    return { type, options: sent }
  },
  pluginOf: (options) => (versionIn(options) === 2 ? secondPlugin : firstPlugin),
  ofTune: (type, current, sent) => {
    checkLeasing(sent)
    checkHasVersions(type, sent)
    const wanted = sent?.['version']
    if (wanted === undefined) return sent
    const version = wantedVersion(wanted)
    if (versionIn(current) === 2 && version === 1)
      throw refuse('invalid', 'cannot downgrade mount from version 2')
    return { ...sent, version: String(version) }
  },
}

function wantedVersion(text: string): 1 | 2 {
  // decimal only: `0x2` is none
  const parsed = text === '' ? { number: 0 } : parseWholeNumber(text.replace(/^([+-]?)0+(?=.)/, '$1'))
  if ('error' in parsed) throw refuse('invalid', `unable to parse options: strconv.ParseInt: ${parsed.error}`)
  if (parsed.number === 1 || parsed.number === 2) return parsed.number
  throw refuse('invalid', `invalid version provided: ${parsed.number}`)
}
