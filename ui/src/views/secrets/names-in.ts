import { keysOf } from '../../api/errors.ts'
import { listFirst, listNames } from './calls.ts'
import { type SecretMount, withoutSlash } from './paths.ts'

type Place = { readonly mount: SecretMount; readonly folder: string }

const params = ({ mount, folder }: Place) => ({
  second: { params: { 'kv-v2_mount_path': withoutSlash(mount.path), path: withoutSlash(folder) } },
  first: { params: { kv_mount_path: withoutSlash(mount.path), path: withoutSlash(folder) } },
})

/** The call that lists a folder. */
export const listRequest = (place: Place) =>
  place.mount.version === 2 ? listNames.request(params(place).second) : listFirst.request(params(place).first)

/** The names in a folder, folders with a slash. An empty folder is answered with 404. */
export const namesIn = (place: Place, signal: AbortSignal): Promise<readonly string[]> =>
  keysOf(
    place.mount.version === 2
      ? listNames(params(place).second, { signal })
      : listFirst(params(place).first, { signal }),
  )
