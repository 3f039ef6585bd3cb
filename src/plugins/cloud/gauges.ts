import type { MountGauge } from '../../http/resource/plugin.ts'
import type { CloudEngine } from './engine.ts'

const sum = (one: number, other: number): number => one + other

const mountGauges = [
  ['debris', 'debris_objects', 'Objects in the cloud that still have to be removed', sum],
  [
    'rootSecretEnd',
    'root_secret_expiry_timestamp_seconds',
    'Expiry of the root secret, if a rotation created it',
    Math.min,
  ],
  [
    'rootCertificateEnd',
    'root_certificate_expiry_timestamp_seconds',
    'Expiry of the root certificate',
    Math.min,
  ],
] as const

const staticGauges = [
  ['due', 'Static roles whose password is due for rotation'],
  ['failing', 'Static roles whose last rotation failed'],
  ['ended', 'Static roles whose password has ended'],
] as const

const poolGauges = [
  ['idle', 'Credentials of the cloud that were made ahead and that nobody has'],
  ['wanted', 'Credentials of the cloud that roles want made ahead'],
] as const

/** docs/monitoring.md#metrics */
export const cloudGauges = ({ credentials, staticRoles, pools }: CloudEngine): MountGauge[] => [
  ...mountGauges.map(([figure, name, help, combine]) => ({
    name: `cloud_${name}`,
    help,
    combine,
    read: async () => (await credentials.figures()).map((one) => ({ mount: one.mount, value: one[figure] })),
  })),
  ...staticGauges.map(([figure, help]) => ({
    name: `cloud_static_roles_${figure}`,
    help,
    combine: sum,
    read: async () => (await staticRoles.figures()).map((one) => ({ mount: one.mount, value: one[figure] })),
  })),
  ...poolGauges.map(([figure, help]) => ({
    name: `cloud_pool_${figure}`,
    help,
    combine: sum,
    read: async () => (await pools.figures()).map((one) => ({ mount: one.mount, value: one[figure] })),
  })),
]
