import { setTimeout as wait } from 'node:timers/promises'
import { type Answer, clientTokenOf, send, sendSuccessfully } from '../simulators/operator.ts'
import type { CredentialProvider } from '../test/support/credential-provider.ts'

/** `unsure`: the response to the revocation did not arrive. */
type State = 'alive' | 'unsure' | 'ended'

/** A token that was issued, and the leases of the secrets that were read with it. */
export type Life = {
  readonly token: string
  state: State
  readonly leases: { readonly id: string; readonly credential: string; state: State }[]
}

const mountPath = 'practice'
const workers = 8
/** Another server takes over a job within 15 s. */
const cleanUpLimitMs = 25_000
const pollMs = 50

/** Mounts the practice engine, whose secrets have leases. */
export async function mountPractice(url: string, rootToken: string): Promise<void> {
  await sendSuccessfully(url, {
    method: 'POST',
    path: `sys/mounts/${mountPath}`,
    token: rootToken,
    body: { type: 'practice' },
  })
  const policy = `path "${mountPath}/*" { capabilities = ["read"] }`
  await sendSuccessfully(url, {
    method: 'POST',
    path: 'sys/policies/acl/practice',
    token: rootToken,
    body: { policy },
  })
}

/**
 * Creates, renews and revokes tokens and leases until the server ends. Returns the acknowledged state of
 * each.
 */
export async function liveUntilCut(url: string, rootToken: string): Promise<Life[]> {
  const lives: Life[] = []
  const live = async () => {
    try {
      for (;;) await oneLife(url, rootToken, lives)
    } catch (error) {
      if (!(error instanceof ServerGone)) throw error
    }
  }
  await Promise.all(Array.from({ length: workers }, live))
  return lives
}

class ServerGone extends Error {}

async function oneLife(url: string, rootToken: string, lives: Life[]): Promise<void> {
  const call = (method: string, path: string, token: string, body?: unknown): Promise<Answer> =>
    send(url, { method, path, token, body }).catch(() => {
      throw new ServerGone()
    })
  const token = clientTokenOf(
    await call('POST', 'auth/token/create', rootToken, { policies: ['practice'], ttl: '1h' }),
  )
  const life: Life = { token, state: 'alive', leases: [] }
  lives.push(life)
  for (let count = 0; count < 2; count++) {
    const { status, body } = await call('GET', `${mountPath}/creds/ci`, token)
    if (status !== 200 || typeof body?.lease_id !== 'string')
      throw new Error(`unexpected response to a secret request: ${status}: ${JSON.stringify(body)}`)
    life.leases.push({ id: body.lease_id, credential: credentialOf(body), state: 'alive' })
  }
  const [kept, ended] = life.leases
  if (kept === undefined || ended === undefined) return
  await call('POST', 'auth/token/renew-self', token, { increment: '30m' })
  await call('PUT', 'sys/leases/renew', rootToken, { lease_id: kept.id, increment: 600 })
  await ending(ended, () => call('PUT', 'sys/leases/revoke', rootToken, { lease_id: ended.id }))
  if (Math.random() < 0.5) await ending(life, () => call('POST', 'auth/token/revoke-self', token))
}

const credentialOf = ({ data }: Record<string, unknown>): string =>
  typeof data === 'object' && data !== null && 'credential' in data ? String(data.credential) : ''

async function ending(one: { state: State }, call: () => Promise<Answer>): Promise<void> {
  one.state = 'unsure'
  const { status, body } = await call()
  if (status !== 204)
    throw new Error(`unexpected response to a revocation request: ${status}: ${JSON.stringify(body)}`)
  one.state = 'ended'
}

/**
 * Where a restarted server or its provider contradicts the responses before the kill. Leases of revoked
 * tokens may take a moment to end.
 */
export async function disagreements(
  { url, rootToken, provider }: { url: string; rootToken: string; provider: CredentialProvider },
  lives: readonly Life[],
): Promise<string[]> {
  const found: string[] = []
  for (const life of lives) {
    const { status } = await send(url, { method: 'GET', path: 'auth/token/lookup-self', token: life.token })
    if (life.state !== 'unsure' && (status === 200) !== (life.state === 'alive'))
      found.push(`a token that is ${life.state} answers ${status}`)
    const isAlive = status === 200
    for (const { id, credential, state } of life.leases) {
      const shouldBe = isAlive ? state : 'ended'
      if (shouldBe === 'unsure') continue
      const isThere =
        shouldBe === 'alive' ? await hasLease(url, rootToken, id) : !(await isGoneSoon(url, rootToken, id))
      if (isThere !== (shouldBe === 'alive'))
        found.push(`a lease that is ${shouldBe} is ${isThere ? 'there' : 'gone'}`)
      const works = provider.alive.has(credential)
      if (works !== isThere)
        found.push(`a credential whose lease is ${isThere ? 'there' : 'gone'} is ${works ? 'alive' : 'dead'}`)
    }
  }
  return found
}

async function hasLease(url: string, rootToken: string, id: string): Promise<boolean> {
  const { status, body } = await send(url, {
    method: 'PUT',
    path: 'sys/leases/lookup',
    token: rootToken,
    body: { lease_id: id },
  })
  if (status !== 200 && status !== 400)
    throw new Error(`unexpected response to a lease request: ${status}: ${JSON.stringify(body)}`)
  return status === 200
}

async function isGoneSoon(url: string, rootToken: string, id: string): Promise<boolean> {
  const until = Date.now() + cleanUpLimitMs
  while (await hasLease(url, rootToken, id)) {
    if (Date.now() > until) return false
    await wait(pollMs)
  }
  return true
}
