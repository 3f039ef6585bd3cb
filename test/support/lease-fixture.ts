import { Jobs } from '../../src/core/jobs/jobs.ts'
import type { Lease } from '../../src/core/leases/lease.ts'
import type { LeaseBackend } from '../../src/core/leases/lease-backend.ts'
import { irrevocablePrefix, leasePrefix } from '../../src/core/leases/lease-keys.ts'
import { LeaseStore } from '../../src/core/leases/lease-store.ts'
import type { Mount } from '../../src/core/mounts/mount.ts'
import { TokenRevoker } from '../../src/core/tokens/end/token-revoker.ts'
import type { Token } from '../../src/core/tokens/store/token.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { startCredentialProvider } from './credential-provider.ts'
import { type PracticeRole, practiceBackend } from './practice-type.ts'
import { quietLog } from './start-server.ts'
import { aMount, defaultTtl, openTokenFixture } from './token-fixture.ts'

const practiceMount = (name: string): Mount =>
  aMount({ table: 'secret', path: `${name}/`, accessor: `${name}_1`, type: 'practice', plugin: 'practice' })

export type LeaseFixtureOptions = { callLimitMs?: number; sweepRetryMs?: number }

/**
 * Leases over a real store and a real provider, with two mounts of the practice engine and a clock that the
 * test controls. Nothing runs by itself: `expire` does.
 */
export async function openLeaseFixture({ callLimitMs = 500, ...limits }: LeaseFixtureOptions = {}) {
  const opened = new AsyncDisposableStack()
  const fixture = opened.use(await openTokenFixture())
  const provider = opened.use(await startCredentialProvider())
  const roles = new Map<string, PracticeRole>([['ci', { ttl: 3600, maxTtl: 7200, renewable: true }]])
  const practice = practiceMount('practice')
  const other = practiceMount('other')
  for (const mount of [practice, other]) fixture.mounts.set(mount.accessor, mount)
  const logged: string[] = []
  const log = {
    warn: (_: object, text: string) => void logged.push(text),
    error: (_: object, text: string) => void logged.push(text),
  }
  const backends = new Map<string, LeaseBackend>([
    ['practice', practiceBackend({ providerUrl: provider.url, roles })],
  ])
  const revoker = new TokenRevoker(fixture.parts)
  const openLeases = (): LeaseStore => {
    return new LeaseStore({
      ...fixture.parts,
      random: systemRandom,
      systemTtl: { defaultTtl, maxTtl: defaultTtl },
      log,
      job: new Jobs({ shared: undefined, clock: fixture.clock, log: quietLog }).job('leases'),
      ...limits,
      callLimitMs,
      backendOf: (plugin) => backends.get(plugin),
      revokeToken: (accessor) => revoker.revoke(accessor),
    })
  }
  let leases = openLeases()
  revoker.onRevoked((token) => leases.endOwned(token))
  opened.defer(() => leases[Symbol.asyncDispose]())
  const { view, clock } = fixture

  /** Issues a credential of the provider under a lease; `token` is its owner. */
  const issue = async (token: Token = fixture.root, { mount = practice, role = 'ci' } = {}) => {
    const response = await fetch(`${provider.url}/credentials`, { method: 'POST' })
    const { id: credential } = (await response.json()) as { id: string }
    const terms = roles.get(role) ?? { ttl: 0, maxTtl: 0, renewable: true }
    const secret = { ...terms, internal: { credential, role } }
    return {
      ...(await leases.issue({ caller: { token }, mount, path: `${mount.path}creds/${role}`, secret })),
      credential,
    }
  }
  const ref = (id: string) => ({ namespace: 'root', id })
  return {
    ...fixture,
    provider,
    roles,
    backends,
    practice,
    other,
    logged,
    revoker,
    issue,
    ref,
    get leases() {
      return leases
    },
    /** Processes what is due. */
    expire: () => leases.expiry.run(),
    stored: async (id: string) => (await view.get(`${leasePrefix}root/${id}`)) as Lease | undefined,
    lookupToken: fixture.lookup,
    lookup: (id: string) => leases.lookup(ref(id), ''),
    irrevocable: async () => Array.fromAsync(leases.irrevocable(['root'])),
    /** Every key related to leases. */
    rows: async () =>
      (
        await Promise.all(
          [leasePrefix, 'lease-due/', 'lease-retry/', 'lease-owner/', irrevocablePrefix].map((p) =>
            view.listKeys(p),
          ),
        )
      ).flat(),
    /** The same records and provider, seen by a server that has just started. */
    restart: async () => {
      await leases[Symbol.asyncDispose]()
      leases = openLeases()
    },
    advance: (seconds: number) => clock.advance(seconds),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}
