import type { Mounts } from '../../api/server.ts'

/** A mount of secrets. */
export type SecretMount = {
  /** With the slash at its end. */
  readonly path: string
  readonly version: 1 | 2
  readonly description: string
}

/** The mounts of type `kv` that the token may see. */
export const secretMounts = ({ secret }: Mounts): readonly SecretMount[] =>
  Object.entries(secret)
    .filter(([, { type }]) => type === 'kv')
    .map(([path, { description, options }]) => ({
      path,
      description,
      version: options?.['version'] === '2' ? (2 as const) : (1 as const),
    }))
    .toSorted((a, b) => (a.path < b.path ? -1 : 1))

/** `a/b/c` and `a/b/` are in the folder `a/` and `a/b/`; a folder is empty, or ends in a slash. */
export const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/') + 1)

export const isFolder = (path: string): boolean => path === '' || path.endsWith('/')

/** Every folder above a path, the outermost first, and the path itself. */
export function trailOf(path: string): { readonly name: string; readonly path: string }[] {
  const trail: { name: string; path: string }[] = []
  for (let start = 0; start < path.length; ) {
    const slash = path.indexOf('/', start)
    const end = slash < 0 ? path.length : slash + 1
    trail.push({ name: path.slice(start, end), path: path.slice(0, end) })
    start = end
  }
  return trail
}

export const withoutSlash = (path: string): string => path.replace(/\/$/, '')
