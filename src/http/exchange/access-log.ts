import type { Call } from './call.ts'
import { nodePathOf, noRoute } from './mount-router.ts'

/**
 * The log line of a finished request. It never contains query, body, headers or tokens.
 * docs/monitoring.md#metrics
 */
export type AccessLine = {
  request_id: string
  method: string
  route: string
  namespace: string
  mount: string
  status: number
  duration_ms: number
  remote_address: string
  /** Of a refusal that has one. docs/explain.md#reasons */
  reason?: string
}

/** Writes the log line of a finished request; `ms` is its duration in milliseconds. */
export function accessLine(
  call: Call,
  { route, status, ms }: { route: string; status: number; ms: number },
): AccessLine {
  return {
    request_id: call.requestId,
    method: call.verb,
    route,
    namespace: call.namespace?.path ?? '',
    mount: call.mount?.path ?? '',
    status,
    duration_ms: Math.round(ms * 1000) / 1000,
    remote_address: call.remoteAddress,
    ...(call.reason === '' ? {} : { reason: call.reason }),
  }
}

/**
 * Plugin and path template (`/jwt/role/:name`); node-level paths as requested (`/sys/health`); `none` for an
 * unknown path.
 */
export function routeTemplate(url: string | undefined): string {
  if (url === undefined || url === noRoute) return 'none'
  return nodePathOf(url.replace(/\(\^[^/]*\$\)/g, ''))
}
