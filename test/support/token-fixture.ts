import { IdentityStore } from '../../src/core/identity/entities/identity-store.ts'
import { GroupStore, type GroupStoreParts } from '../../src/core/identity/groups/group-store.ts'
import type { Mount } from '../../src/core/mounts/mount.ts'
import { Servers } from '../../src/core/servers/servers.ts'
import type { CreateInput } from '../../src/core/tokens/acts/create-input.ts'
import { type CreateRequest, createToken } from '../../src/core/tokens/acts/create-token.ts'
import { issueLogin, type LoginAuth } from '../../src/core/tokens/acts/issue-login.ts'
import { renewToken } from '../../src/core/tokens/acts/renew-token.ts'
import { TokenRevoker } from '../../src/core/tokens/end/token-revoker.ts'
import { ReplayStore } from '../../src/core/tokens/store/replay-store.ts'
import { ensureDevRootToken } from '../../src/core/tokens/store/root-token.ts'
import type { Token } from '../../src/core/tokens/store/token.ts'
import type { RenewalTerms } from '../../src/core/tokens/store/token-fields.ts'
import { TokenRoleStore } from '../../src/core/tokens/store/token-role-store.ts'
import { TokenStore } from '../../src/core/tokens/store/token-store.ts'
import { systemRandom } from '../../src/lib/system/random.ts'
import { openCoreView } from './core-view.ts'

const day = 86_400
export const defaultTtl = 32 * day

export const aMount = (changes: Partial<Mount> = {}): Mount => ({
  table: 'auth',
  namespace: 'root',
  path: 'auth/jwt/',
  type: 'jwt',
  plugin: 'jwt',
  accessor: 'auth_jwt_1',
  uuid: 'uuid-1',
  description: '',
  config: { default_lease_ttl: 0, max_lease_ttl: 0, force_no_cache: false },
  options: null,
  local: false,
  seal_wrap: false,
  external_entropy_access: false,
  tainted: false,
  moves: 0,
  ...changes,
})

export const tokenMount = aMount({
  path: 'auth/token/',
  type: 'token',
  plugin: 'token',
  accessor: 'auth_token_1',
})
export const jwtMount = aMount()
export const otherJwtMount = aMount({ path: 'auth/jwt2/', accessor: 'auth_jwt_2' })

export const nothingAsked: CreateInput = {
  id: '',
  policies: [],
  meta: null,
  no_parent: false,
  no_default_policy: false,
  renewable: true,
  ttl: '',
  lease: '',
  type: '',
  explicit_max_ttl: '',
  period: '',
  display_name: '',
  num_uses: 0,
  entity_alias: '',
}

export const aLogin = (changes: Partial<LoginAuth> = {}): LoginAuth => ({
  alias: { name: 'alice', metadata: { role: 'dev' } },
  displayName: 'alice',
  groupNames: [],
  policies: [],
  ttl: 0,
  maxTtl: 0,
  explicitMaxTtl: 0,
  period: 0,
  numUses: 0,
  tokenType: 'default',
  boundCidrs: [],
  noDefaultPolicy: false,
  internal: { role: 'dev' },
  ...changes,
})

/** The groups of a server that shares its storage with no other. */
export const openGroups = (parts: Omit<GroupStoreParts, 'servers' | 'isSameOrAbove'>): Promise<GroupStore> =>
  GroupStore.open({ ...parts, servers: new Servers(undefined, systemRandom), isSameOrAbove: () => true })

/**
 * Tokens and identity over a real store, with mounts and role terms that the test may change. The root
 * token's id is `root`.
 */
export async function openTokenFixture() {
  const { view, clock, ...core } = await openCoreView()
  const mounts = new Map([tokenMount, jwtMount, otherJwtMount].map((mount) => [mount.accessor, mount]))
  const revoked: Token[] = []
  const fixture = {
    roleTerms: { ok: true, ttl: 0, maxTtl: 0, period: 0 } as RenewalTerms,
    cleanUpFails: false,
  }
  const storeParts = {
    view,
    clock,
    random: systemRandom,
    sealer: core.barrier,
    mountOf: (accessor: string) => mounts.get(accessor),
  }
  const tokens = await TokenStore.open(storeParts)
  const openIdentity = async () =>
    IdentityStore.open({ ...storeParts, memberships: await openGroups(storeParts) })
  const identity = await openIdentity()
  const roles = new TokenRoleStore(view)
  const spent = await ReplayStore.open(storeParts)
  const parts = {
    ...storeParts,
    tokens,
    identity,
    roles,
    spent,
    systemTtl: { defaultTtl, maxTtl: defaultTtl },
  }
  const revoker = new TokenRevoker(parts)
  revoker.onRevoked(async (token) => {
    if (fixture.cleanUpFails) throw new Error('the cubbyhole cannot be emptied')
    revoked.push(token)
  })
  await ensureDevRootToken({ tokens, view, tokenMount }, 'root')

  const must = (token: Token | undefined): Token => {
    if (token === undefined) throw new Error('the token is not valid')
    return token
  }
  const root = must(await tokens.lookup('root'))
  const knownPolicies = new Set(['default', 'root', 'web', 'db'])
  const create = async (input: Partial<CreateInput> = {}, request: Partial<CreateRequest> = {}) => {
    const caller = request.caller ?? root
    return createToken(
      { ...parts, revoker, policyExists: (name) => knownPolicies.has(name) },
      {
        mount: tokenMount,
        caller,
        sudo: caller === root,
        form: 'create',
        ...request,
        input: { ...nothingAsked, ...input },
      },
    )
  }
  const lookup = async (id: string) => must(await tokens.lookup(id))
  const renew = (token: Token, increment = 0, id = 'shown') =>
    renewToken({ ...parts, renewalTerms: async () => fixture.roleTerms }, { token, id, increment })
  const login = (auth: Partial<LoginAuth> = {}, mount = jwtMount) =>
    issueLogin(parts, { mount, path: `${mount.path}login`, remoteAddress: '127.0.0.1', auth: aLogin(auth) })
  /** The same records seen by a server that has just started. */
  const restarted = async () => ({
    tokens: await TokenStore.open(storeParts),
    identity: await openIdentity(),
  })
  return {
    ...core,
    view,
    clock,
    mounts,
    revoked,
    fixture,
    tokens,
    identity,
    roles,
    revoker,
    parts,
    root,
    create,
    lookup,
    renew,
    login,
    restarted,
  }
}
