/** A tenant of the server. Contract core-http §5. */
export type Namespace = {
  /** `root`, else six base62 characters. */
  readonly id: string
  /** Full path from the root with trailing slash; empty for the root. */
  readonly path: string
}

export const rootNamespace: Namespace = { id: 'root', path: '' }

/**
 * The namespace a request is in, from its header and path, and the path that is left below it; undefined when the header names none that exists.
 * Contract core-http §5.2. The root is the only one so far.
 */
export function resolveNamespace(header: string | undefined, path: string): { namespace: Namespace; path: string } | undefined {
  const name = header === undefined || header === '' ? '' : cleanName(header)
  return name === '' || name === 'root' ? { namespace: rootNamespace, path } : undefined
}

function cleanName(header: string): string {
  const segments: string[] = []
  for (const segment of header.split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment === '..') segments.pop()
    else segments.push(segment)
  }
  return segments.join('/')
}
