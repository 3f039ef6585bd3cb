import { z } from 'zod'
import type { MountToken, MountTokens } from '../../../core/identity-tokens/mount-tokens.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { refuse } from '../../../errors.ts'
import { boolField, stringField } from '../../../lib/text/fields.ts'
import { checkAreHarmless } from '../app-roles/resolve-app-roles.ts'
import type { ConfigRecord } from '../config/config-record.ts'
import { identityTokenUse } from '../config/effective-settings.ts'
import type { Readiness } from '../credentials/readiness.ts'
import type { EngineParts } from '../engine-parts.ts'
import { holderOfRole, type MountState } from '../mount-state.ts'
import type { RoleRecord } from '../roles/role-record.ts'
import { checkIsNotOwn } from '../sign-in/own-clients.ts'
import { callerError, type UpstreamCall, UpstreamError } from '../upstream/index.ts'
import { deadlineExceeded } from '../upstream/retry.ts'
import { explainRefusal, isUntrusted, shellQuoted } from '../upstream/sign-in-refusals.ts'
import type { FreshToken } from '../upstream/transport.ts'
import { unpublishedKey } from '../upstream/upstream-error.ts'
import { callWithin } from '../upstream-work.ts'
import { credentialTypeOf, federatedClientOf } from './federated-role.ts'
import type { KeptToken } from './kept-tokens.ts'
import { requestedScope } from './requested-scope.ts'

export const tokenFields = z.object({
  scope: stringField
    .optional()
    .describe('The resource of the token, followed by `/.default`')
    .meta({ examples: ['https://management.azure.com/.default'] }),
  fresh: boolField.default(false).describe('Ask the login service anew instead of returning a kept token'),
})

export type TokenRequest = z.output<typeof tokenFields>

export type FederatedCredentialsParts = Pick<EngineParts, 'stateOf' | 'clock'> & {
  readonly mountTokens: Pick<MountTokens, 'identityOf' | 'sign' | 'signingKeyOf'>
}

type Use = {
  readonly mount: Mount
  readonly state: MountState
  /** Lower-case. */
  readonly name: string
  readonly role: RoleRecord
  readonly clientId: string
  readonly config: ConfigRecord | undefined
}

const assertionType = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'
const everyMs = 500
const retryMs = 2_000
const newKeyMs = 30_000
const newTrustMs = 600_000

/**
 * Identity and access tokens of federated roles. Without a lease: both end by themselves.
 * docs/contract/cloud.md#federated-roles
 */
export class FederatedCredentials {
  readonly #parts: FederatedCredentialsParts

  constructor(parts: FederatedCredentialsParts) {
    this.#parts = parts
  }

  /** Whether the credentials of a role are federated; `name` is in any case. */
  async issues(mount: Mount, name: string): Promise<boolean> {
    const role = await this.#parts.stateOf(mount).findRole(name.toLowerCase())
    return role !== undefined && credentialTypeOf(role) === 'federated'
  }

  /** An identity token of a role, with what it is exchanged for and where. */
  async assertion(mount: Mount, name: string, readiness: Readiness | undefined, correlationId: string) {
    const use = await this.#use(mount, name, callWithin(this.#parts.clock, correlationId))
    const { tokenEndpoint } = await use.state.exchange()
    const { token, expiresAt } = await this.#recentlySigned(use)
    const { config } = use
    const data = {
      client_id: use.clientId,
      tenant_id: use.state.operator.tenantId ?? config?.tenant_id ?? '',
      client_assertion: token,
      client_assertion_type: assertionType,
      token_endpoint: tokenEndpoint,
      expires_in: Math.max(0, Math.floor((expiresAt - this.#parts.clock.now()) / 1000)),
    }
    return readiness === undefined
      ? { data }
      : { data, warnings: [await this.#untilAccepted(use, readiness, correlationId)] }
  }

  /** An access token of a role, kept or new, as JSON for a response. */
  async token(
    mount: Mount,
    name: string,
    { scope: sent, fresh }: TokenRequest,
    correlationId: string,
  ): Promise<string> {
    const { clock } = this.#parts
    const call = callWithin(clock, correlationId)
    const use = await this.#use(mount, name, call)
    const scope = requestedScope(sent, use.role.allowed_scopes)
    const kept = await use.state.tokens.get(
      { holder: holderOfRole(use.name), clientId: use.clientId, scope },
      fresh,
      () => this.#accessToken(use, scope, call),
    )
    return accessTokenText(kept, clock.now())
  }

  async #use(mount: Mount, typed: string, call: UpstreamCall): Promise<Use> {
    const state = this.#parts.stateOf(mount)
    const name = typed.toLowerCase()
    const role = await state.findRole(name)
    if (role === undefined) throw refuse('invalid', `role '${name}' does not exist`)
    if (credentialTypeOf(role) !== 'federated')
      throw refuse('invalid', `role '${name}' has no federated credential`)
    const clientId = federatedClientOf(role)
    const config = await state.findConfig()
    await checkIsNotOwn(clientId, state, call)
    checkAreHarmless(role, mount)
    return { mount, state, name, role, clientId, config }
  }

  #recentlySigned(use: Use): Promise<MountToken> {
    const { assertions } = use.state
    const recent = assertions.get(use.name)
    if (recent !== undefined) return recent
    const signing = this.#sign(use)
    assertions.set(use.name, signing)
    signing.catch(() => assertions.drop(use.name))
    return signing
  }

  #sign({ mount, state, name, role, config }: Use): Promise<MountToken> {
    const { audience, ttl } = identityTokenUse(config, state.operator)
    const terms = { audience, ttl: role.ttl === 0 ? ttl : Math.min(ttl, role.ttl) }
    return this.#parts.mountTokens.sign({ mount, role: name }, terms)
  }

  /** Exchanges tokens until one is accepted, or until no more try fits in before `end`; then throws the last refusal. */
  async #exchange(
    use: Use,
    scope: string | undefined,
    call: UpstreamCall,
    { everyMs, end }: { readonly everyMs: number; end(refusal: UpstreamError): number },
  ): Promise<FreshToken> {
    const exchange = await use.state.exchange()
    const proof = { assertion: async () => (await this.#sign(use)).token }
    let last: UpstreamError | undefined
    for (;;) {
      try {
        return await exchange.exchange({ clientId: use.clientId, proof }, scope ?? exchange.readyScope, call)
      } catch (thrown) {
        last = refusalIn(thrown, last)
        if (this.#parts.clock.now() + everyMs >= end(last)) throw last
        await exchange.waiting.pause(everyMs)
      }
    }
  }

  async #accessToken(use: Use, scope: string, call: UpstreamCall): Promise<FreshToken> {
    const begun = this.#parts.clock.now()
    const end = (refusal: UpstreamError) => Math.min(call.deadline, acceptedBy(refusal, begun, use.role) ?? 0)
    try {
      return await this.#exchange(use, scope, call, { everyMs: retryMs, end })
    } catch (error) {
      throw error instanceof UpstreamError ? await this.#explained(error, use) : error
    }
  }

  async #explained(error: UpstreamError, use: Use) {
    const { clientId, config, state, mount, name, role } = use
    const identity = await this.#parts.mountTokens.identityOf({ mount, role: name })
    const { audience } = identityTokenUse(config, state.operator)
    const { id: keyId } = await this.#parts.mountTokens.signingKeyOf(mount)
    const path = shellQuoted(`${mount.path}roles/${name}`)
    const refusal = explainRefusal(
      error.code,
      { ...identity, clientId, audience, keyId, at: this.#parts.clock.now() },
      {
        renewal: role.trust === undefined ? undefined : `vault write -f ${path}`,
        clockOffsetMs: (await state.exchange()).clockOffsetMs(),
      },
    )
    return refusal === undefined
      ? tokenRefusal(error)
      : refuse('invalid', `${error.message}: ${refusal.cause}; fix: ${refusal.fix}`, { cause: error })
  }

  /** Returns a warning, or throws. */
  async #untilAccepted(use: Use, { limitMs, onTimeout }: Readiness, correlationId: string): Promise<string> {
    const { clock } = this.#parts
    const begun = clock.now()
    const call = { deadline: begun + limitMs, correlationId }
    try {
      await this.#exchange(use, undefined, call, { everyMs, end: () => call.deadline })
      return `credentials were ready after ${Math.ceil((clock.now() - begun) / 1000)} s`
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      if (onTimeout === 'return') return 'credentials may take a short time to become usable'
      throw await this.#explained(error, use)
    }
  }
}

/** Once the time is over, what was refused before says more than that. Throws what is not of the cloud. */
function refusalIn(thrown: unknown, before: UpstreamError | undefined): UpstreamError {
  if (!(thrown instanceof UpstreamError)) throw thrown
  return thrown.code === deadlineExceeded ? (before ?? thrown) : thrown
}

/** No such application in the tenant, and an application without a service principal there. */
const unknownApplication = ['AADSTS700016', 'AADSTS7000229']

/**
 * By when what was refused may be accepted, in milliseconds since the epoch: a trust that the engine made is not
 * known everywhere at once, nor are an application of its own and a new signing key. Undefined: not at all.
 */
function acceptedBy(
  { code }: UpstreamError,
  begun: number,
  { trust, managed }: RoleRecord,
): number | undefined {
  if (code === unpublishedKey) return begun + newKeyMs
  const isSpreading = isUntrusted(code) || (managed !== undefined && unknownApplication.includes(code))
  return trust !== undefined && isSpreading ? trust.since + newTrustMs : undefined
}

/** An access token as JSON for a response. docs/contract/cloud.md#access-tokens */
export function accessTokenText(
  { quoted, lifetimeMs, extendedLifetimeMs = lifetimeMs, askedAt }: KeptToken,
  now: number,
): string {
  const left = (lifetime: number) => Math.max(0, Math.floor((askedAt + lifetime - now) / 1000))
  return `{"token_type":"Bearer","expires_in":${left(lifetimeMs)},"ext_expires_in":${left(extendedLifetimeMs)},"access_token":${quoted}}`
}

const failed = 'error getting an access token'

/** What the login service refuses concerns the scope or the application: neither is a failure of the service. */
export function tokenRefusal(error: UpstreamError): Error {
  const isRefused = error.status >= 400 && error.status < 500 && ![408, 429].includes(error.status)
  return isRefused
    ? refuse('invalid', `${failed}: ${error.message}`, { cause: error })
    : callerError(error, failed)
}
