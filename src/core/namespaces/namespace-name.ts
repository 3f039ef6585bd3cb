import { headerText } from '../../lib/net/header-text.ts'
import { excerpt, quoted } from '../../lib/text/go-text.ts'
import type { Namespace } from './namespace.ts'

/** The maximum length of a namespace's full path, in UTF-16 code units. */
const maxPathLength = 1024

const reserved = new Set(['root', 'sys', 'audit', 'auth', 'cubbyhole', 'identity', '.', '..'])
const reservedAtRoot = new Set(['ui', 'v1', 'docs', 'robots.txt', '.well-known', 'metrics', 'health'])

/**
 * Why a name is invalid, independently of other namespaces. docs/contract/namespaces.md#managing-namespaces
 */
export function nameFault(parent: Namespace, name: string): string | undefined {
  if (name === '') return 'namespace name cannot be empty'
  if (name.includes('/')) return 'namespace name cannot contain /'
  if (reserved.has(name) || (parent.path === '' && reservedAtRoot.has(name))) {
    return `${quoted(`${name}/`)} is a reserved path and cannot be used as a namespace name`
  }
  if (/\s/u.test(name))
    return `${quoted(name)} contains space characters that cannot be used in a namespace name`
  const wildcard = /[+*]/.exec(name)?.[0]
  if (wildcard !== undefined)
    return `${quoted(name)} contains wildcard characters that cannot be used in a namespace name: '${wildcard}'`
  if (/[^\p{L}\p{M}\p{N}\p{P}\p{S}]/u.test(name))
    return `${quoted(name)} contains non-printable characters that cannot be used in a namespace name`
  if (parent.path.length + name.length >= maxPathLength)
    return `the path of namespace ${quoted(excerpt(name))} is longer than ${maxPathLength} characters`
  return undefined
}

/**
 * The path segments in a namespace header; empty for the root, undefined for a path that leaves the root.
 * docs/contract/namespaces.md#the-namespace-of-a-request
 */
export function segmentsOfHeader(header: string): string[] | undefined {
  const segments: string[] = []
  for (const segment of headerText(header).split('/')) {
    if (segment === '' || segment === '.') continue
    if (segment !== '..') segments.push(segment)
    else if (segments.pop() === undefined) return undefined
  }
  return segments.length === 1 && segments[0] === 'root' ? [] : segments
}
