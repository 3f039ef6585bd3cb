import { Cache } from '../data/cache.ts'

/** How far a zone's clocks are ahead of UTC at a time, both in milliseconds. */
export type OffsetAt = (time: number) => number

const longestName = 64

const zones = new Cache<OffsetAt>({ name: 'time zones', most: 1000 })

/** The clocks of a zone of the IANA database, or of a fixed offset like `+02:00`; undefined for an unknown one. */
export function timeZone(name: string): OffsetAt | undefined {
  if (name.length > longestName) return undefined
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = readZone(name)
  if (zone !== undefined) zones.set(name, zone)
  return zone
}

function readZone(name: string): OffsetAt | undefined {
  let format: Intl.DateTimeFormat
  try {
    format = new Intl.DateTimeFormat('en-US', { timeZone: name, timeZoneName: 'longOffset' })
  } catch (error) {
    if (error instanceof RangeError) return undefined
    throw error
  }
  return (time) => offsetIn(format.format(time))
}

/** The text ends in `GMT`, `GMT+01:00` or, long ago, `GMT-00:44:30`. */
function offsetIn(text: string): number {
  const [, sign, hours, minutes, seconds = '0'] = /GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(text) ?? []
  if (sign === undefined) return 0
  const ahead = ((Number(hours) * 60 + Number(minutes)) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -ahead : ahead
}
