import type { MountGauge } from '../../http/resource/plugin.ts'
import type { JwtMethod } from './method.ts'

/** docs/monitoring.md#metrics */
export function jwtGauges(method: JwtMethod): MountGauge[] {
  type Keyset = Awaited<ReturnType<JwtMethod['keysets']>>[number]
  const read = (value: (keyset: Keyset) => number | undefined) => async () =>
    (await method.keysets()).map((keyset) => ({ mount: keyset.mount, value: value(keyset) }))
  const sum = (one: number, other: number) => one + other
  return [
    { name: 'keys', help: 'Usable keys that verify tokens', combine: sum, read: read(({ keys }) => keys) },
    {
      name: 'keyset_age_seconds',
      help: 'Time since keys were last fetched',
      combine: Math.max,
      read: read(({ ageSeconds }) => ageSeconds),
    },
    {
      name: 'pending_logins',
      help: 'Browser logins that wait for their callback',
      combine: sum,
      read: read(({ pending }) => pending),
    },
  ]
}
