import { textIn } from '../operator.ts'
import type { Operator } from './operator.ts'
import type { Person } from './people.ts'

const hourMs = 3_600_000
const inHours = (hours: number): string => new Date(Date.now() + hours * hourMs).toISOString()

const messages = [
  {
    title: 'Maintenance on Saturday',
    text: 'From 20:00 to 22:00 UTC the server moves to new machines.\nTokens and leases stay valid; no logins are possible.',
    authenticated: false,
    severity: 'warning',
    start_time: inHours(-20),
    end_time: inHours(96),
    link: { 'Status page': 'https://status.acme.example' },
  },
  {
    title: 'Reader tokens of CI end on 1 December',
    text: 'Jobs log in with the JWT of their platform. The guide shows the two lines that change.',
    authenticated: true,
    severity: 'info',
    start_time: inHours(-48),
    end_time: inHours(24 * 8),
    link: { Guide: 'https://wiki.acme.example/gatehouse/ci' },
  },
  {
    title: 'Rules for production secrets',
    text: 'Do not copy production secrets to laptops. Whoever reads them is named in the audit log.',
    authenticated: true,
    type: 'modal',
    severity: 'critical',
    acknowledge_required: true,
    audience: { policies: ['developer'] },
    start_time: inHours(-24 * 10),
  },
  {
    title: 'New certificates for *.internal',
    text: 'The authority of the internal network changes. Restart long-running jobs afterwards.',
    authenticated: true,
    start_time: inHours(72),
    end_time: inHours(24 * 7),
  },
  {
    title: 'Terms of use',
    text: 'You use a system of Acme. Its use is recorded.',
    authenticated: false,
    type: 'modal',
    start_time: inHours(24 * 5),
  },
  {
    title: 'Upgrade to 0.2 is done',
    text: 'Logins explain themselves now.',
    authenticated: false,
    severity: 'success',
    start_time: inHours(-24 * 9),
    end_time: inHours(-24 * 6),
  },
]

/** Announcements in every state, and some who have acknowledged one. */
export async function announcements({ write, as }: Operator, staff: readonly Person[]): Promise<void> {
  for (const { text, ...message } of messages) {
    const made = await write('sys/config/ui/custom-messages', {
      ...message,
      message: Buffer.from(text).toString('base64'),
    })
    if (message.acknowledge_required !== true) continue
    const path = `sys/internal/ui/authenticated-messages/${textIn(made, 'data', 'id')}/ack`
    // ada has not read it yet
    for (const { name, token } of staff) if (name !== 'ada') await as(token, { method: 'POST', path })
  }
}
