import { z } from 'zod'
import type { DocumentedAnswer } from '../../http/resource/resource.ts'
import { formatTime } from '../../lib/text/time.ts'
import { redactUrl } from '../../logins/refusals/redact.ts'
import { bestOffset } from '../keys/clock-offset.ts'
import type { KeysetSource } from '../keys/keyset.ts'
import { alertKinds, type Timeline, type TimelineKey } from './timeline.ts'

const text = z.string()
const count = z.int()
const time = text.nullable()

const shownKey = z.object({
  thumbprint: text,
  kid: text,
  type: text,
  algorithms: z.array(text),
  size: count,
  current: z.boolean(),
  allowed: z.boolean(),
  first_seen: text,
  last_seen: text,
  gone_since: time,
  first_login: time,
  last_login: time,
})
const shownSource = z.object({
  kind: z.enum(['static', 'jwks', 'discovery']),
  url: text,
  observed_at: time,
  clock_offset_seconds: count.nullable(),
  clock_offset_estimated: z.boolean(),
  keys: z.array(shownKey),
  document: z.record(text, text).nullable(),
  fetches: z.array(
    z.object({
      time: text,
      of: z.enum(['keys', 'document']),
      ok: z.boolean(),
      milliseconds: count,
      error: text,
    }),
  ),
  alerts: z.array(z.object({ time: text, kind: z.enum(alertKinds), text })),
})

const at = '2026-03-01T09:30:00Z'

/** The response of `keys`, for the API document. docs/contract/key-sources.md */
export const keysAnswer = {
  output: z.object({ allowed_key_thumbprints: z.array(text), sources: z.array(shownSource) }),
  example: {
    allowed_key_thumbprints: [],
    sources: [
      {
        kind: 'discovery',
        url: 'https://ci.example.com',
        observed_at: at,
        clock_offset_seconds: 0,
        clock_offset_estimated: false,
        keys: [
          {
            thumbprint: 'NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
            kid: 'key-1',
            type: 'RSA',
            algorithms: ['RS256'],
            size: 2048,
            current: true,
            allowed: true,
            first_seen: at,
            last_seen: at,
            gone_since: null,
            first_login: at,
            last_login: at,
          },
        ],
        document: { issuer: 'https://ci.example.com', jwks_uri: 'https://ci.example.com/keys' },
        fetches: [{ time: at, of: 'keys', ok: true, milliseconds: 12, error: '' }],
        alerts: [
          {
            time: at,
            kind: 'single_key',
            text: 'of 2 keys one is left: NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs',
          },
        ],
      },
    ],
  },
} as const satisfies DocumentedAnswer

/** Fetches shown for each source, of this server. */
const mostFetches = 50

/** The timelines as responses show them, newest first. */
export const shownKeys = (
  pins: readonly string[],
  timelines: readonly { readonly source: KeysetSource; readonly timeline: Timeline }[],
): object => ({
  allowed_key_thumbprints: pins,
  sources: timelines.map(({ source, timeline }) => ({
    kind: source.kind,
    url: redactUrl(source.url),
    observed_at: timeOrNull(timeline.observedAt || undefined),
    ...shownOffset(source),
    keys: timeline.keys
      .toSorted((one, other) => other.firstSeen - one.firstSeen)
      .map((key) => shownTimelineKey(key, pins)),
    document: timeline.document?.seen ?? null,
    fetches: shownFetches(source),
    alerts: timeline.alerts
      .toReversed()
      .map(({ time, kind, text }) => ({ time: formatTime(time), kind, text })),
  })),
})

function shownTimelineKey(key: TimelineKey, pins: readonly string[]): z.output<typeof shownKey> {
  const { thumbprint, kid, type, algorithms, size, goneAt } = key
  return {
    ...{ thumbprint, kid, type, algorithms: [...algorithms], size },
    current: goneAt === undefined,
    allowed: pins.length === 0 || pins.includes(thumbprint),
    first_seen: formatTime(key.firstSeen),
    last_seen: formatTime(key.lastSeen),
    gone_since: timeOrNull(goneAt),
    first_login: timeOrNull(key.firstLogin),
    last_login: timeOrNull(key.lastLogin),
  }
}

function shownOffset({ histories }: KeysetSource) {
  const offset = bestOffset(histories.flatMap((history) => history.offset ?? []))
  return {
    clock_offset_seconds: offset?.seconds ?? null,
    clock_offset_estimated: offset?.isEstimate ?? false,
  }
}

/** The first history of a discovered source is that of its document. */
function shownFetches({ kind, histories }: KeysetSource): object[] {
  const fetches = histories.flatMap(({ results }, index) =>
    results.map((result) => ({ ...result, of: kind === 'discovery' && index === 0 ? 'document' : 'keys' })),
  )
  return fetches
    .toSorted((one, other) => other.time - one.time)
    .slice(0, mostFetches)
    .map(({ time, of, milliseconds, error }) => ({
      time: formatTime(time),
      of,
      ok: error === '',
      milliseconds,
      error,
    }))
}

const timeOrNull = (time: number | undefined): string | null => (time === undefined ? null : formatTime(time))
