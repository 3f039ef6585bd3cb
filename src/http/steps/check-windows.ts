import type { IncomingMessage } from 'node:http'
import type { Access } from '../../core/callers/access.ts'
import { belowMount } from '../../core/mounts/spellings.ts'
import type { NamespaceStore } from '../../core/namespaces/namespace-store.ts'
import type { ActingWindow, Announcements, WindowEffect } from '../../core/settings/announcements.ts'
import { refuse } from '../../errors.ts'
import type { Clock } from '../../lib/system/clock.ts'
import type { Call } from '../exchange/call.ts'
import { hasSudo, type RouteRules } from '../exchange/exchange.ts'

export type WindowParts = {
  readonly announcements: Pick<Announcements, 'windowsOf'>
  readonly access: Pick<Access, 'elsewhere'>
  readonly namespaces: Pick<NamespaceStore, 'byId'>
  readonly clock: Clock
  /** Called for each request that a window refuses. */
  onRefused(effect: WindowEffect): void
}

/** In seconds: clients that obey the header do not wait any longer before they ask again. */
const longestRetry = 3600

/**
 * Throws `unavailable` for a call that a window refuses, unless a caller with `sudo` overrides it, and all others.
 * docs/contract/message-windows.md#refusals
 */
export async function checkWindows(
  parts: WindowParts,
  raw: IncomingMessage,
  call: Call,
  rules: RouteRules,
): Promise<void> {
  if (call.namespace === undefined) return
  const { announcements, clock, onRefused } = parts
  const announced = announcements.windowsOf(call.namespace)
  const windows = announced instanceof Promise ? await announced : announced
  const halting = windows.filter(({ effect }) => rules.haltedBy.includes(effect))
  if (halting.length === 0) return
  const window = await firstThatHolds(halting, parts, { raw, call, rules })
  if (window === undefined) {
    call.override = 'maintenance'
    return
  }
  onRefused(window.effect)
  throw refuse('unavailable', `maintenance: ${window.title}`, {
    reason: 'maintenance',
    retryAfterSeconds: secondsUntilEnd(window, clock.now()),
  })
}

type Asking = { readonly raw: IncomingMessage; readonly call: Call; readonly rules: RouteRules }

/** The first window that the caller does not override. docs/contract/message-windows.md#override */
async function firstThatHolds(
  windows: readonly ActingWindow[],
  { access, namespaces }: Pick<WindowParts, 'access' | 'namespaces'>,
  { raw, call, rules: { canonical } }: Asking,
): Promise<ActingWindow | undefined> {
  const { path, below, caller } = call
  const canonicalize = canonical && belowMount(path.slice(0, path.length - below.length), canonical)
  const asks = raw.headers['x-gatehouse-override'] === 'maintenance'
  if (!asks || caller === undefined || !hasSudo({ call, caller }, canonicalize)) return windows[0]
  for (const window of windows) {
    if (window.namespace === call.namespace?.id) continue
    const owner = namespaces.byId(window.namespace)
    const there = owner && (await access.elsewhere(caller, owner))
    if (there?.acl.decide({ operation: 'update', path: messagesPath }).sudo !== true) return window
  }
  return undefined
}

/** A caller with `sudo` there may end the windows of the namespace. */
const messagesPath = 'sys/config/ui/custom-messages'

const secondsUntilEnd = ({ endsAt = Number.POSITIVE_INFINITY }: ActingWindow, now: number): number =>
  Math.min(longestRetry, Math.max(1, Math.ceil((endsAt - now) / 1000)))
