import { useAcl } from '../../shell/acl.ts'
import { grantsOf } from '../../shell/grants.ts'

/** The roles that the token's policies name below a path: all that somebody sees who may not list them. */
export function useNamedRoles(prefix: string): readonly string[] | undefined {
  const { data } = useAcl()
  if (data === undefined) return undefined
  return grantsOf(data)
    .filter(({ path, isPrefix, capabilities }) => {
      const name = path.slice(prefix.length)
      return !isPrefix && path.startsWith(prefix) && !/[/+]/.test(name) && capabilities.includes('read')
    })
    .map(({ path }) => path.slice(prefix.length))
}
