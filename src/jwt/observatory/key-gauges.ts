import type { Mount } from '../../core/mounts/mount.ts'
import { bestOffset } from '../keys/clock-offset.ts'
import type { KeysetSource } from '../keys/keyset.ts'
import { observedSources } from './key-watch.ts'

/** The key sources of a mount that was used since the start. */
type MountSources = { readonly mount: Mount; readonly sources: readonly KeysetSource[] }

const sum = (one: number, other: number): number => one + other
const farther = (one: number, other: number): number => (Math.abs(one) >= Math.abs(other) ? one : other)

/** The gauges of mounts with keys. docs/monitoring.md#metrics */
export function keyGauges(mounts: () => Promise<readonly MountSources[]>, now: () => number) {
  const each = (value: (sources: readonly KeysetSource[]) => number | undefined) => async () =>
    (await mounts()).map(({ mount, sources }) => ({ mount, value: value(sources) }))
  const ageSeconds = (sources: readonly KeysetSource[]) => {
    const fetchedAt = sources.flatMap(({ histories }) =>
      histories.flatMap(({ fetchedAt }) => fetchedAt ?? []),
    )
    return fetchedAt.length === 0 ? undefined : Math.max(0, (now() - Math.min(...fetchedAt)) / 1000)
  }
  return [
    {
      name: 'keys',
      help: 'Usable keys that verify tokens',
      combine: sum,
      read: each((sources) => sources.reduce((count, { keys }) => count + keys.length, 0)),
    },
    {
      name: 'keyset_age_seconds',
      help: 'Time since keys were last fetched',
      combine: Math.max,
      read: each(ageSeconds),
    },
    {
      name: 'key_source_clock_offset_seconds',
      help: 'Seconds by which the clock of the source of keys is ahead of ours, as far as known',
      label: 'source',
      combine: farther,
      read: async () =>
        (await mounts()).flatMap(({ mount, sources }) =>
          [...observedSources({ sources: () => sources }).values()].map((source, index) => ({
            mount,
            value: offsetOf(source),
            of: String(index + 1),
          })),
        ),
    },
  ]
}

const offsetOf = ({ histories }: KeysetSource): number | undefined =>
  bestOffset(histories.flatMap(({ offset }) => offset ?? []))?.seconds
