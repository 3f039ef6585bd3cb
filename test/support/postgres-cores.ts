import { randomBytes } from 'node:crypto'
import type { LeaseBackend } from '../../src/core/leases/lease-backend.ts'
import type { Mount } from '../../src/core/mounts/mount.ts'
import { createToken } from '../../src/core/tokens/acts/create-token.ts'
import { issueLogin, type LoginAuth } from '../../src/core/tokens/acts/issue-login.ts'
import type { Token } from '../../src/core/tokens/store/token.ts'
import { FakeClock } from './fake-clock.ts'
import { someMountTypes } from './mount-types.ts'
import { openTestCore } from './open-core.ts'
import { emptyDatabase, query } from './postgres.ts'
import { openPostgresAt } from './postgres-storage.ts'
import { aLogin, nothingAsked } from './token-fixture.ts'

const systemTtl = { defaultTtl: 3600, maxTtl: 3600 }
/** Then only `hear` reads what has changed. */
const never = 2 ** 31 - 1

/** A lease engine without an upstream. */
const leases: LeaseBackend = { renew: async () => ({ ttl: 600, maxTtl: 3600 }), revoke: async () => {} }

export type SharedCore = Awaited<ReturnType<typeof openOne>>

/** The core of one server, with what the tests of tokens and identity do on it. */
async function openOne(url: string, replicaName: string, sealKey: Buffer, clock: FakeClock) {
  await using opened = new AsyncDisposableStack()
  const storage = opened.use(
    await openPostgresAt(url, { replicaName, pool: 4, notifies: false, pollMs: never }),
  )
  const mountTypes = someMountTypes({ table: 'secret', names: ['practice'] })
  mountTypes.add({ table: 'secret', names: ['practice'], leases })
  const core = opened.use(await openTestCore({ storage, sealKey, mountTypes, clock, systemTtl }))
  const parts = { ...core, identity: core.identities, systemTtl, policyExists: () => true }
  const mount = (path: string): Mount => {
    const found = core.mounts.table.at('root', path)
    if (found === undefined) throw new Error(`no mount at ${path}`)
    return found
  }
  const held = opened.move()
  return {
    ...core,
    mount,
    /** Reads what other servers have written. */
    hear: () => storage.copies.confirm(),
    login: (auth: Partial<LoginAuth> = {}, at = mount('auth/jwt/')) =>
      issueLogin(parts, {
        mount: at,
        path: 'auth/jwt/login',
        remoteAddress: '127.0.0.1',
        auth: aLogin(auth),
      }),
    create: (input: Partial<typeof nothingAsked>, caller: Token) =>
      createToken(parts, {
        mount: mount('auth/token/'),
        caller,
        sudo: true,
        form: 'create',
        input: { ...nothingAsked, ...input },
      }),
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}

/**
 * The cores of two servers over one PostgreSQL, with a mount `auth/jwt/` and an engine `practice/`. Neither
 * hears of what the other one writes before it asks.
 */
export async function openPostgresCores() {
  await using opened = new AsyncDisposableStack()
  const { url } = opened.use(await emptyDatabase())
  const sealKey = randomBytes(32)
  const clock = new FakeClock()
  const one = opened.use(await openOne(url, 'one', sealKey, clock))
  await one.mounts.enable({ table: 'auth', namespace: 'root', path: 'auth/jwt/' }, { type: 'jwt' })
  await one.mounts.enable({ table: 'secret', namespace: 'root', path: 'practice/' }, { type: 'practice' })
  const other = opened.use(await openOne(url, 'other', sealKey, clock))
  const held = opened.move()
  return {
    one,
    other,
    clock,
    /** Raised by each write that other servers must hear of. */
    version: async () => (await query(url, 'SELECT version FROM cache_version'))[0]?.version,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  }
}
