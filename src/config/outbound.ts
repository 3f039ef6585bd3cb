import { z } from 'zod'
import { type Setting, setting } from './setting.ts'
import { networks } from './values.ts'

export const outboundSettings = {
  outboundDeny: setting(
    networks,
    'OUTBOUND_DENY',
    '169.254.0.0/16,fe80::/10,fd00:ec2::254/128,168.63.129.16/32',
    'networks to which the server never sends requests',
  ),
  serviceAccountDir: setting(
    z.string(),
    'SERVICE_ACCOUNT_DIR',
    '/var/run/secrets/kubernetes.io/serviceaccount',
    'folder with token and ca.crt of the own service account, for mounts of type kubernetes',
  ),
} satisfies Record<string, Setting>
