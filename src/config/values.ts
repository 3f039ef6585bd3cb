import { z } from 'zod'
import { isNetwork } from '../lib/net/cidr.ts'

const durationUnits: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

const sizeUnits: Record<string, number> = { '': 1, B: 1, KiB: 1024, MiB: 1024 ** 2, GiB: 1024 ** 3 }

export const text = z.string().min(1, 'must not be empty')

export const flag = z.enum(['true', 'false']).transform((text) => text === 'true')

export const count = z
  .string()
  .regex(/^\d{1,12}$/, 'must be a whole number')
  .transform(Number)

/** `500ms`, `10s`, `24h`; parsed to milliseconds. */
const duration = z
  .string()
  .regex(/^\d{1,9}(?:ms|s|m|h|d)$/, 'must be a duration like 500ms, 10s or 24h')
  .transform((text) => Number.parseInt(text, 10) * (durationUnits[text.replace(/^\d+/, '')] ?? 0))

const maxTimerMs = 2 ** 31 - 1

/** A duration that a Node.js timer can wait for. */
export const timerDuration = duration.refine((ms) => ms <= maxTimerMs, 'must be at most 24d')

/** A duration that the API reports in whole seconds. */
export const lifetime = duration.refine((ms) => ms >= 1000, 'must be at least 1s')

/** `32MiB`; parsed to bytes. */
export const size = z
  .string()
  .regex(/^\d{1,9}(?:\.\d{1,3})?(?:B|KiB|MiB|GiB)?$/, 'must be a size like 512KiB or 32MiB')
  .transform((text) => Math.round(Number.parseFloat(text) * (sizeUnits[text.replace(/^[\d.]+/, '')] ?? 0)))

/** `10%`; parsed to a fraction. */
export const share = z
  .string()
  .regex(/^\d{1,3}(?:\.\d{1,3})?%$/, 'must be a percentage like 10%')
  .transform((text) => Number.parseFloat(text) / 100)
  .refine((part) => part > 0 && part <= 1, 'must be above 0% and at most 100%')

/** An amount that must not be 0, because the server could then serve no request. */
export const positive = <Schema extends z.ZodType<number>>(schema: Schema) =>
  schema.refine((amount) => amount > 0, 'must be above 0')

export const list = z
  .string()
  .transform((text) => (text === '' ? [] : text.split(',').map((item) => item.trim())))

export const networks = list.refine(
  (items) => items.every(isNetwork),
  'must be a list of networks like 10.0.0.0/8',
)

export const hosts = list.refine(
  (items) => items.every((item) => /^(?:\[[0-9a-fA-F:.]+\]|[^:[\]\s/]+):\d{1,5}$/.test(item)),
  'must be a list of host:port',
)
