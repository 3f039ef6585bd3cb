import { fail, invalidToken, refuse, ServiceError } from '../../errors.ts'
import { addressMatches } from '../../lib/net/cidr.ts'
import type { Clock } from '../../lib/system/clock.ts'
import { type Identity, type IdentityStore, identityIn } from '../identity/entities/identity-store.ts'
import { type Namespace, rootNamespace } from '../namespaces/namespace.ts'
import type { NamespaceStore } from '../namespaces/namespace-store.ts'
import { type Acl, rootAcl } from '../policies/acl.ts'
import type { PolicySet, PolicyStore } from '../policies/policy-store.ts'
import type { PolicyUse } from '../policies/policy-uses.ts'
import { AclFromAbove, noRights, RelativeAcl } from '../policies/relative-acl.ts'
import { ScopedAcl } from '../policies/scoped-acl.ts'
import type { TemplateContext } from '../policies/templates.ts'
import type { CarriedLogin, IssuedToken } from '../tokens/acts/auth-block.ts'
import { loginOf, type Token } from '../tokens/store/token.ts'
import type { TokenStore } from '../tokens/store/token-store.ts'

/** A caller: a valid token and its rights. */
export type Caller = {
  readonly token: Token
  /** The id as presented; held only during the request. Empty for a login in the headers of the request. */
  readonly tokenId: string
  /** Of a caller whose login its request carries: the token is not stored. */
  readonly carried?: CarriedLogin | undefined
  readonly identityPolicies: readonly string[]
  /** Of its entity, if it has one. */
  readonly identity?: Identity | undefined
  /** For paths relative to the namespace of the request. */
  readonly acl: Acl
}

type Rights = Pick<Caller, 'identityPolicies' | 'identity' | 'acl'>

/** What the rights of a token depend on, beside its entity. */
type HeldToken = Pick<Token, 'namespace' | 'policies' | 'scope'> & Parameters<typeof loginOf>[0]

/** Whoever holds the policies of a token, the first of the sets. */
export type Holder = {
  readonly sets: readonly [PolicySet, ...PolicySet[]]
  readonly context: TemplateContext
}

export type AccessParts = {
  tokens: TokenStore
  identities: IdentityStore
  policies: PolicyStore
  namespaces: NamespaceStore
  clock: Clock
}

const groupsOf = ({ policiesByNamespace }: Identity, namespace: string) =>
  policiesByNamespace.find((set) => set.namespace === namespace)?.groups

const denied = () => refuse('denied', 'permission denied')

/** Whether the token may be used at this address. */
const isBoundTo = ({ bound_cidrs, expire_time }: Token, remoteAddress: string): boolean =>
  bound_cidrs.length === 0 || expire_time === null || addressMatches(bound_cidrs, remoteAddress)

/** Resolves token ids to callers with rights. docs/contract/http.md#the-order-of-refusals */
export class Access {
  readonly #parts: AccessParts

  constructor(parts: AccessParts) {
    this.#parts = parts
  }

  /**
   * The caller of a request in `namespace`; costs a use of the token. Throws `denied` (bare) if the token is
   * missing, not bound to this address, or if its entity is disabled, and `invalidToken` if it is unknown, expired or
   * spent, or if its entity is deleted. A token of another namespace that is not an ancestor is accepted but
   * has no rights.
   */
  authenticate(
    tokenId: string,
    remoteAddress: string,
    namespace: Namespace = rootNamespace,
  ): Promise<Caller> {
    return this.#callerOf(tokenId, remoteAddress, namespace, true)
  }

  /**
   * Like `authenticate`, but costs no use: for paths that need no token.
   * docs/contract/tokens-and-policies.md#creating-a-token
   */
  recognize(tokenId: string, remoteAddress: string, namespace: Namespace = rootNamespace): Promise<Caller> {
    return this.#callerOf(tokenId, remoteAddress, namespace, false)
  }

  /** Like `recognize`, but undefined for an invalid token. */
  async findCaller(
    tokenId: string,
    remoteAddress: string,
    namespace: Namespace = rootNamespace,
  ): Promise<Caller | undefined> {
    return tokenId === '' ? undefined : unlessDenied(this.recognize(tokenId, remoteAddress, namespace))
  }

  /** Like `recognizeAgain`, but undefined for a caller that is no longer valid, and for none. */
  async findAgain(
    caller: Caller | undefined,
    remoteAddress: string,
    namespace: Namespace = rootNamespace,
  ): Promise<Caller | undefined> {
    return caller && unlessDenied(this.recognizeAgain(caller, remoteAddress, namespace))
  }

  async #callerOf(
    tokenId: string,
    remoteAddress: string,
    namespace: Namespace,
    costs: boolean,
  ): Promise<Caller> {
    if (tokenId === '') throw denied()
    const { tokens } = this.#parts
    let token = await tokens.lookup(tokenId)
    if (token === undefined) throw invalidToken()
    if (!isBoundTo(token, remoteAddress)) throw denied()
    if (costs && token.num_uses !== 0) {
      token = await tokens.spendUse(token)
      if (token === undefined) throw invalidToken()
    }
    return await this.#withRights({ token, tokenId, carried: undefined }, namespace)
  }

  /** The caller whose login the request carries. Throws like `authenticate`, but not for a missing token. */
  async ofLogin(
    { token, carried }: IssuedToken,
    { tokenId, remoteAddress, namespace }: { tokenId: string; remoteAddress: string; namespace: Namespace },
  ): Promise<Caller> {
    if (!isBoundTo(token, remoteAddress)) throw denied()
    return this.#withRights({ token, tokenId, carried }, namespace)
  }

  /** Like `recognize`, for the caller of a request that has waited. */
  async recognizeAgain(
    { token, tokenId, carried }: Caller,
    remoteAddress: string,
    namespace: Namespace = rootNamespace,
  ): Promise<Caller> {
    if (carried === undefined) return this.recognize(tokenId, remoteAddress, namespace)
    if (!(await this.#parts.tokens.isValid(token))) throw invalidToken()
    return this.#withRights({ token, tokenId, carried }, namespace)
  }

  /** The same caller, with its rights in another namespace. */
  elsewhere({ token, tokenId, carried }: Caller, namespace: Namespace): Promise<Caller> {
    return this.#withRights({ token, tokenId, carried }, namespace)
  }

  async #withRights(
    { token, tokenId, carried }: Pick<Caller, 'token' | 'tokenId' | 'carried'>,
    namespace: Namespace,
  ): Promise<Caller> {
    const rights = await this.#rightsOf(token)
    if (rights === 'disabled') throw denied()
    if (rights === 'deleted') throw invalidToken()
    const { identityPolicies, identity, acl } = rights
    return {
      token,
      tokenId,
      carried,
      identityPolicies,
      identity,
      acl: token.namespace === namespace.id ? acl : this.#seenFrom(namespace, token, acl),
    }
  }

  /**
   * The capabilities of a token, given by id, in a namespace. Throws `invalid` if the token is invalid, or if
   * its namespace is neither this one nor above or below it. For a token from below, paths include the path
   * of its namespace. docs/contract/tokens-and-policies.md#policies
   */
  async aclOfToken(tokenId: string, namespace: Namespace): Promise<Pick<Acl, 'capabilities'>> {
    return this.#aclOf(await this.#parts.tokens.lookup(tokenId), namespace, 'invalid token')
  }

  /** Like `aclOfToken`, for an accessor; tokens from namespaces above are unknown. */
  async aclOfAccessor(accessor: string, namespace: Namespace): Promise<Pick<Acl, 'capabilities'>> {
    const token = await this.#parts.tokens.lookupByAccessor(accessor)
    const isAbove =
      token !== undefined &&
      token.namespace !== namespace.id &&
      this.#pathFrom(token.namespace, namespace) !== undefined
    return this.#aclOf(isAbove ? undefined : token, namespace, 'invalid accessor')
  }

  /**
   * The rights of a token of this namespace, named by its accessor. Throws `invalid` if there is none, or if its entity
   * is disabled or gone.
   */
  async rightsOfAccessor(accessor: string, namespace: Namespace): Promise<Acl> {
    const token = await this.#parts.tokens.lookupByAccessor(accessor)
    if (token?.namespace !== namespace.id) throw fail('invalid', 'invalid accessor')
    const rights = await this.#rightsOf(token)
    if (typeof rights === 'string') throw refuse('invalid', `the entity of the token is ${rights}`)
    return rights.acl
  }

  async #aclOf(
    token: Token | undefined,
    namespace: Namespace,
    refusal: string,
  ): Promise<Pick<Acl, 'capabilities'>> {
    const own = token && this.#parts.namespaces.byId(token.namespace)
    const down = own && this.#pathFrom(namespace.id, own)
    if (
      token === undefined ||
      (down === undefined && this.#pathFrom(token.namespace, namespace) === undefined)
    )
      throw fail('invalid', refusal)
    const rights = await this.#rightsOf(token)
    if (typeof rights === 'string') throw fail('invalid', 'invalid token')
    return down === undefined
      ? this.#seenFrom(namespace, token, rights.acl)
      : down === ''
        ? rights.acl
        : new AclFromAbove(rights.acl, down)
  }

  #pathFrom(upper: string, lower: Namespace): string | undefined {
    return this.#parts.namespaces.pathBelow(upper, lower)
  }

  /**
   * A token has the rights of its namespace's policies in that namespace and below it; a root token has them
   * everywhere. docs/contract/namespaces.md#isolation
   */
  #seenFrom(namespace: Namespace, token: Token, acl: Acl): Acl {
    if (acl === rootAcl) return acl
    const prefix = this.#parts.namespaces.pathBelow(token.namespace, namespace)
    return prefix === undefined ? noRights : new RelativeAcl(acl, prefix)
  }

  /** A word instead of rights says what became of the token's entity. */
  async #rightsOf(token: Token): Promise<Rights | 'disabled' | 'deleted'> {
    const { identities, clock } = this.#parts
    if (token.entity_id === '') {
      const acl = await this.#aclFor(token, { login: loginOf(token), now: clock.now() }, [])
      return { identityPolicies: [], identity: undefined, acl }
    }
    const identity = await identities.identityOf(token.entity_id)
    if (identity === undefined) return 'deleted'
    if (identity.entity.disabled) return 'disabled'
    return await this.#rightsWith(token, identity)
  }

  /** The warnings about the rights that a token of a login would have. */
  async warningsOf(token: HeldToken, identity: Identity): Promise<string[]> {
    const { acl } = await this.#rightsWith(token, identity)
    return [...new Set(acl.unfilled.map(({ name }) => name))].map(
      (name) =>
        `a rule of policy ${JSON.stringify(name)} that denies cannot be filled: a value contains "/", "*", "+" or "..", so everything that the rule could mean is denied`,
    )
  }

  async #rightsWith(token: HeldToken, identity: Identity): Promise<Rights> {
    const { clock } = this.#parts
    const here = identityIn(identity, token.namespace)
    const context: TemplateContext = {
      entity: identity.entity,
      groups: here.groups,
      login: loginOf(token),
      now: clock.now(),
    }
    const own =
      here.policies.length === 0 ? [] : [{ namespace: token.namespace, names: here.policies, prefix: '' }]
    const acl = await (identity.policiesByNamespace.length === 0
      ? this.#aclFor(token, context, own)
      : this.#aclFor(token, { ...context, groupsOf: (id) => groupsOf(identity, id) }, [
          ...own,
          ...this.#policiesBelow(token, identity),
        ]))
    return { identityPolicies: here.policies, identity, acl }
  }

  /**
   * The policies of a token, those that its entity and groups add now, and what their templates know without the login.
   * Undefined if the entity is gone or disabled.
   */
  async holderOf({
    namespace,
    policies: names,
    entity,
  }: Pick<PolicyUse, 'namespace' | 'policies' | 'entity'>): Promise<Holder | undefined> {
    const own = { namespace, names, prefix: '' }
    const now = this.#parts.clock.now()
    if (entity === '') return { sets: [own], context: { now } }
    const identity = await this.#parts.identities.identityOf(entity)
    if (identity === undefined || identity.entity.disabled) return undefined
    const here = identityIn(identity, namespace)
    return {
      sets: [own, { ...own, names: here.policies }, ...this.#policiesBelow({ namespace }, identity)],
      context: {
        entity: identity.entity,
        groups: here.groups,
        groupsOf: (id) => groupsOf(identity, id),
        now,
      },
    }
  }

  /** The one place where the scope of a token limits its rights. docs/contract/scopes.md#the-intersection */
  async #aclFor(
    { namespace, policies: names, scope }: HeldToken,
    context: TemplateContext,
    more: readonly PolicySet[],
  ): Promise<Acl> {
    const { policies } = this.#parts
    const whole = await policies.aclFor(namespace, names, context, more)
    if (scope === undefined) return whole
    if (scope.policies === undefined) return new ScopedAcl(whole, { narrowed: undefined, paths: scope.paths })
    const counted = new Set(scope.policies)
    const among = (held: readonly string[]) => held.filter((name) => counted.has(name))
    // a name of the scope is one of the token's own namespace
    const own = more.filter(({ prefix }) => prefix === '').map((set) => ({ ...set, names: among(set.names) }))
    const narrowed = await policies.aclFor(namespace, among(names), context, own)
    return new ScopedAcl(whole, { narrowed, paths: scope.paths })
  }

  /** Policies of groups in namespaces below the token's. docs/contract/namespaces.md#isolation */
  #policiesBelow({ namespace }: Pick<Token, 'namespace'>, { policiesByNamespace }: Identity): PolicySet[] {
    const { namespaces } = this.#parts
    return policiesByNamespace.flatMap((set) => {
      const lower = namespaces.byId(set.namespace)
      const prefix = lower && namespaces.pathBelow(namespace, lower)
      return prefix === undefined || prefix === ''
        ? []
        : [{ namespace: set.namespace, names: set.names, prefix }]
    })
  }
}

/** Undefined for a caller who is denied. */
export async function unlessDenied(found: Promise<Caller>): Promise<Caller | undefined> {
  try {
    return await found
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'denied') return undefined
    throw error
  }
}
