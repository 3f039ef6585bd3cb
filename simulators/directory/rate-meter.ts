import type { ServiceName } from './operations.ts'
import type { Settings } from './settings.ts'

/** Counts requests in windows of the stand-in's clock. Above the limit it returns the time to wait. */
export function makeRateMeter(
  limits: () => Settings['rateLimits'],
  now: () => number,
): (service: ServiceName) => { retryAfterSeconds: number } | undefined {
  const windows = new Map<ServiceName, { startedAt: number; count: number }>()
  return (service) => {
    const limit = limits()[service]
    if (limit === null) return undefined
    const lengthMs = limit.perSeconds * 1000
    const open = windows.get(service)
    const window =
      open === undefined || now() >= open.startedAt + lengthMs ? { startedAt: now(), count: 0 } : open
    windows.set(service, window)
    window.count += 1
    return window.count <= limit.requests
      ? undefined
      : { retryAfterSeconds: Math.max(1, Math.ceil((window.startedAt + lengthMs - now()) / 1000)) }
  }
}
