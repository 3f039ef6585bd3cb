import type { MountGauge } from '../../http/resource/plugin.ts'
import type { CloudEngine } from './engine.ts'

const staticGauges = [
  ['due', 'Static roles whose password is due for rotation'],
  ['failing', 'Static roles whose last rotation failed'],
  ['ended', 'Static roles whose password has ended'],
] as const

/** docs/monitoring.md#metrics */
export const cloudGauges = ({ credentials, staticRoles }: CloudEngine): MountGauge[] => [
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
  {
    name: 'cloud_root_certificate_expiry_timestamp_seconds',
    help: 'Expiry of the root certificate',
    combine: Math.min,
    read: async () =>
      (await credentials.figures()).map(({ mount, rootCertificateEnd }) => ({
        mount,
        value: rootCertificateEnd,
      })),
  },
  ...staticGauges.map(([figure, help]) => ({
    name: `cloud_static_roles_${figure}`,
    help,
    combine: (one: number, other: number) => one + other,
    read: async () => (await staticRoles.figures()).map((one) => ({ mount: one.mount, value: one[figure] })),
  })),
]
