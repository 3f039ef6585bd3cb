import { strings } from '../strings.ts'
import { ApiError } from './errors.ts'

/** A call of the API, as the UI makes it and as "copy as" shows it. */
export type ApiRequest = {
  readonly method: 'GET' | 'LIST' | 'POST' | 'PATCH' | 'DELETE'
  /** Below `/v1/`. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>> | undefined
  readonly body?: unknown
  /** Asks for the response behind a wrapping token that is valid so long. */
  readonly wrapTtl?: string | undefined
}

/**
 * Encodes one name in a path. Refuses `.` and `..`: browsers and curl take them for steps, so that the call would reach
 * another object than the one it names.
 */
export function encodedName(value: string): string {
  if (value === '.' || value === '..') throw wayward(value)
  return encodeURIComponent(value)
}

/** Encodes a value in a path. Paths and mounts keep their slashes. */
export const encodedPath = (value: string): string => value.split('/').map(encodedName).join('/')

const wayward = (path: string): ApiError => new ApiError(-1, [strings.errors.wayward(path)])

function pathWithQuery({ path, query }: Pick<ApiRequest, 'path' | 'query'>): string {
  const text = new URLSearchParams(query).toString()
  return text === '' ? path : `${path}?${text}`
}

/** Where a call goes. Refuses one that the browser would send to another path than its own. */
export function addressOf(request: Pick<ApiRequest, 'path' | 'query'>, base: URL): URL {
  const address = new URL(`${base.href}${pathWithQuery(request)}`)
  if (address.pathname !== `${base.pathname}${request.path}`) throw wayward(request.path)
  return address
}

const quoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The call for a shell. The token and the address are variables of the shell. */
export function curlOf(request: ApiRequest, namespace: string): string {
  const { method, body } = request
  const parts = ['curl']
  if (method !== 'GET' && !(method === 'POST' && body !== undefined)) parts.push(`-X ${method}`)
  parts.push('-H "X-Vault-Token: $VAULT_TOKEN"')
  if (namespace !== '') parts.push(`-H ${quoted(`X-Vault-Namespace: ${namespace}`)}`)
  if (request.wrapTtl !== undefined) parts.push(`-H ${quoted(`X-Vault-Wrap-TTL: ${request.wrapTtl}`)}`)
  if (method === 'PATCH') parts.push("-H 'Content-Type: application/merge-patch+json'")
  if (body !== undefined) parts.push(`-d ${quoted(JSON.stringify(body))}`)
  const path = pathWithQuery(request)
  parts.push(/[^\w/.:%~-]/.test(path) ? `"$VAULT_ADDR"${quoted(`/v1/${path}`)}` : `$VAULT_ADDR/v1/${path}`)
  return parts.join(' ')
}

const verbs = { GET: 'read', LIST: 'list', POST: 'write', PATCH: 'patch', DELETE: 'delete' } as const

/** The same for the `vault` and `bao` commands. */
export function vaultOf({ method, path, query, body, wrapTtl }: ApiRequest, namespace: string): string {
  const parts: string[] = ['vault', verbs[method]]
  if (namespace !== '') parts.push(`-namespace=${quotedIfNeeded(namespace)}`)
  if (wrapTtl !== undefined) parts.push(`-wrap-ttl=${quotedIfNeeded(wrapTtl)}`)
  if (body === undefined && method === 'POST') parts.push('-f')
  parts.push(quotedIfNeeded(decodeURIComponent(path)))
  for (const [name, value] of Object.entries(query ?? {})) parts.push(quotedIfNeeded(`${name}=${value}`))
  if (body === undefined) return parts.join(' ')
  const fields = Object.entries(body as Record<string, unknown>)
  if (fields.some(([, value]) => !['string', 'number', 'boolean'].includes(typeof value)))
    return `${parts.join(' ')} - <<< ${quoted(JSON.stringify(body))}`
  return [...parts, ...fields.map(([name, value]) => quotedIfNeeded(`${name}=${value}`))].join(' ')
}

/** As one word of a command line. */
export const quotedIfNeeded = (text: string): string => (/^[\w/.:=@%+,-]+$/.test(text) ? text : quoted(text))
