import type { MountGauge } from '../../http/resource/plugin.ts'
import { keyGauges } from '../../jwt/observatory/key-gauges.ts'
import type { JwtMethod } from './method.ts'

/** docs/monitoring.md#metrics */
export const jwtGauges = (method: JwtMethod, now: () => number): MountGauge[] => [
  ...keyGauges(() => method.keySources(), now),
  {
    name: 'pending_logins',
    help: 'Browser logins that wait for their callback',
    combine: (one, other) => one + other,
    read: () => method.pendingLogins(),
  },
]
