import { type Setting, setting } from './setting.ts'
import { networks } from './values.ts'

export const outboundSettings = {
  outboundDeny: setting(
    networks,
    'OUTBOUND_DENY',
    '169.254.0.0/16,fe80::/10,fd00:ec2::254/128,168.63.129.16/32',
    'networks to which the server never sends requests',
  ),
} satisfies Record<string, Setting>
