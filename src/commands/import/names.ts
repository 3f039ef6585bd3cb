/** Whether a name that a server lists is one segment of a path. Others could lead to another path. */
export const isName = (name: string): boolean =>
  name !== '.' && name !== '..' && /^[^/\p{Cc}\p{Cs}]+$/u.test(name)

export const isPath = (path: string): boolean => path.split('/').every(isName)

/** Whether a mount can have this path. That of a mount's settings ends in `tune`. */
export const isMountPath = (path: string): boolean =>
  path.endsWith('/') && isPath(path.slice(0, -1)) && !/(^|\/)tune\/$/.test(path)

export const notAName = 'it is not a name'
