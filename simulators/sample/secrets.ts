import type { Operator } from './operator.ts'

const versions: readonly (readonly [path: string, data: object])[] = [
  ['shop/database', { host: 'db-1.internal', username: 'shop', password: 'spring-Rain-41' }],
  ['shop/database', { host: 'db-1.internal', username: 'shop', password: 'late-Harbour-77' }],
  ['shop/database', { host: 'db-2.internal', username: 'shop', password: 'quiet-Orchard-19', pool: 20 }],
  ['shop/payments', { api_key: 'pk_live_51HxQ2aR', webhook_secret: 'whsec_8f2c61d0' }],
  ['shop/mail', { smtp_host: 'smtp.internal', username: 'shop', password: 'paper-Lantern-08' }],
  ['web/tls', { certificate: 'CN=www.acme.example', key_id: 'www-2026-11' }],
  ['billing/erp', { url: 'https://erp.internal', token: 'erp-7c1e90b3' }],
  ['runbook', { on_call: '+49 30 5550 0134', bridge: 'https://meet.acme.example/ops' }],
]

/** A mount of secrets, some with several versions, in a namespace (`acme/`, or empty). */
export async function sampleSecrets({ write }: Operator, namespace: string): Promise<void> {
  await write(`${namespace}sys/mounts/team`, { type: 'kv-v2', description: 'Secrets of the teams' })
  for (const [path, data] of versions) await write(`${namespace}team/data/${path}`, { data })
  await write(`${namespace}team/metadata/shop/database`, {
    custom_metadata: { owner: 'shop', ticket: 'OPS-812' },
  })
}
