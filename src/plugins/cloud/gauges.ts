import type { MountGauge } from '../../http/plugin.ts'
import type { CloudEngine } from './engine.ts'

/** docs/monitoring.md#metrics */
export const cloudGauges = ({ credentials }: CloudEngine): MountGauge[] => [
  {
    name: 'cloud_debris_objects',
    help: 'Objects in the cloud that still have to be removed',
    combine: (one, other) => one + other,
    read: async () => (await credentials.figures()).map(({ mount, debris }) => ({ mount, value: debris })),
  },
  {
    name: 'cloud_root_secret_expiry_timestamp_seconds',
    help: 'Expiry of the root secret, if a rotation created it',
    combine: Math.min,
    read: async () =>
      (await credentials.figures()).map(({ mount, rootSecretEnd }) => ({ mount, value: rootSecretEnd })),
  },
]
