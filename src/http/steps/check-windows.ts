import type { IncomingMessage } from 'node:http'
import { belowMount } from '../../core/mounts/spellings.ts'
import type { ActingWindow, Announcements, WindowEffect } from '../../core/settings/announcements.ts'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Call } from '../exchange/call.ts'
import { hasSudo, type RouteRules } from '../exchange/exchange.ts'

export type WindowParts = {
  readonly announcements: Pick<Announcements, 'windowsOf'>
  readonly clock: Clock
  /** Called for each request that a window refuses. */
  onRefused(effect: WindowEffect): void
}

/** In seconds: clients that obey the header do not wait any longer before they ask again. */
const longestRetry = 3600

/**
 * Throws `unavailable` for a call that a window refuses, unless a caller with `sudo` overrides it.
 * docs/contract/message-windows.md#refusals
 */
export async function checkWindows(
  { announcements, clock, onRefused }: WindowParts,
  raw: IncomingMessage,
  call: Call,
  rules: RouteRules,
): Promise<void> {
  if (call.namespace === undefined) return
  const announced = announcements.windowsOf(call.namespace)
  const windows = announced instanceof Promise ? await announced : announced
  const window = windows.find(({ effect }) => rules.haltedBy.includes(effect))
  if (window === undefined) return
  if (isOverridden(raw, call, rules)) {
    call.override = 'maintenance'
    return
  }
  onRefused(window.effect)
  throw refuse('unavailable', `maintenance: ${window.title}`, {
    reason: 'maintenance',
    retryAfterSeconds: secondsUntilEnd(window, clock.now()),
  })
}

function isOverridden(raw: IncomingMessage, call: Call, { canonical }: RouteRules): boolean {
  if (raw.headers['x-gatehouse-override'] !== 'maintenance') return false
  const { path, below } = call
  return hasSudo(
    { call, caller: call.caller },
    canonical && belowMount(path.slice(0, path.length - below.length), canonical),
  )
}

const secondsUntilEnd = ({ endsAt = Number.POSITIVE_INFINITY }: ActingWindow, now: number): number =>
  Math.min(longestRetry, Math.max(1, Math.ceil((endsAt - now) / 1000)))
