import { z } from 'zod'
import { parsedJson } from '../../../lib/text/json.ts'
import type { RootCredential } from '../config/choose-credential.ts'
import { identityTokenUse } from '../config/effective-settings.ts'
import { tokenInFile } from '../sign-in/assertions.ts'
import { claimsIn } from '../sign-in/explain.ts'
import { defaultEndpoint, openMetadata } from '../sign-in/metadata.ts'
import { missingIdentity, wantedIdentity } from '../sign-in/open-login.ts'
import { clean } from '../upstream/answer.ts'
import { withRetries } from '../upstream/retry.ts'
import { UpstreamError } from '../upstream/upstream-error.ts'
import type { Finding, PreflightContext } from './preflight-context.ts'

type NamedCheck = readonly [name: string, look: () => Promise<Finding>]

const fetchMs = 10_000
const knockMs = 3_000
const retriesMs = 5_000
const largestDocument = 1024 ** 2
/** The cloud keeps no more keys of an issuer. */
const mostKeys = 100
/** Seconds. The cloud may know the keys of an hour ago. */
const leastPeriod = 3600

const discovery = z.object({ issuer: z.string(), jwks_uri: z.string() })
const keySet = z.object({ keys: z.array(z.object({ kid: z.string() })) })

/** The checks of a way to sign in that need no sign-in. docs/contract/cloud.md#preflight */
export function signInChecks(context: PreflightContext): NamedCheck[] {
  const { credential } = context.upstream.settings
  switch (credential.type) {
    case 'plugin_wif':
      return [
        ['issuer', () => issuer(context)],
        ['signing_key', () => signingKey(context)],
      ]
    case 'aks_wif':
      return [['token_file', () => tokenFile(credential)]]
    case 'msi':
    case 'msi_wif':
      return [['metadata', () => metadata(context)]]
    default:
      return []
  }
}

/** Fetches the issuer's documents from where the cloud will. */
async function issuer(context: PreflightContext): Promise<Finding> {
  const expected = await context.mountTokens.identityOf(context)
  if (!expected.issuer.startsWith('https:')) return notOk(`${expected.issuer} is not https`)
  const found = discovery.safeParse(
    await document(`${expected.issuer}/.well-known/openid-configuration`, context),
  )
  if (!found.success) return notOk(`${expected.issuer} serves no discovery document`)
  if (found.data.issuer !== expected.issuer)
    return notOk(`${expected.issuer} calls itself ${clean(found.data.issuer)}`)
  const keys = keySet.safeParse(await document(expected.jwksUri, context))
  if (!keys.success) return notOk(`${expected.jwksUri} serves no keys`)
  const count = keys.data.keys.length
  if (count > mostKeys) return notOk(`${expected.jwksUri} publishes ${count} keys`)
  const { id } = await context.mountTokens.signingKeyOf(context.mount)
  return keys.data.keys.some(({ kid }) => kid === id)
    ? { ok: true, detail: `${expected.issuer} publishes ${count} keys` }
    : notOk(`${expected.jwksUri} does not publish the key that signs now`)
}

const notOk = (detail: string): Finding => ({ ok: false, detail })

/** Undefined if it cannot be fetched without a redirect. */
async function document(url: string, { outbound, state, call }: PreflightContext): Promise<unknown> {
  const answer = await outbound
    .exchange({
      service: 'discovery',
      method: 'GET',
      url,
      headers: { accept: 'application/json' },
      agent: outbound.connections(state.operator.caPem),
      timeoutMs: fetchMs,
      maxBytes: largestDocument,
      signal: call.signal,
    })
    .catch(() => undefined)
  return answer?.status === 200 ? parsedJson(answer.body.toString()) : undefined
}

async function signingKey({ state, mount, mountTokens }: PreflightContext): Promise<Finding> {
  const use = identityTokenUse(await state.findConfig(), state.operator)
  // throws what a write of the configuration would
  await mountTokens.check({ mount }, use)
  const { name, rotationPeriod } = await mountTokens.signingKeyOf(mount)
  if (rotationPeriod < leastPeriod)
    return notOk(
      `the key "${name}" changes every ${rotationPeriod} s: set its rotation_period to ${leastPeriod} or more`,
    )
  return { ok: true, detail: `RS256, for ${use.audience}` }
}

async function tokenFile({
  tokenFile: path,
}: Extract<RootCredential, { type: 'aks_wif' }>): Promise<Finding> {
  const claims = claimsIn(await tokenInFile(path))
  return claims === undefined
    ? notOk('the token file has no JWT')
    : { ok: true, detail: `issuer ${claims.issuer}, subject ${claims.subject}` }
}

/** Looks only at what the metadata service says. */
async function metadata({ state, signIn }: PreflightContext): Promise<Finding> {
  const { metadataEndpoint, identityEndpoint, identityHeader } = state.operator
  const isPlatform = identityEndpoint !== undefined && identityHeader !== undefined
  const detail = isPlatform ? `the platform's ${identityEndpoint}` : (metadataEndpoint ?? defaultEndpoint)
  try {
    await signIn()
  } catch (error) {
    if (error instanceof UpstreamError && error.service === 'metadata') throw error
  }
  return { ok: true, detail }
}

/**
 * Never from a cache, which would show the permissions of an hour ago. Waits less than a request for a metadata
 * service that gives no token: whoever checks is there.
 */
export async function signInNow(context: Omit<PreflightContext, 'signIn'>): Promise<void> {
  const { upstream, call } = context
  const { credential } = upstream.settings
  if (credential.type === 'msi' || credential.type === 'msi_wif') await knock(credential, context)
  await upstream.tokens.fresh('directory', call)
}

/** Throws if the metadata service gives no token within a few seconds. */
async function knock(
  credential: Extract<RootCredential, { type: 'msi' | 'msi_wif' }>,
  { state, upstream, outbound, call, clock, pause }: Omit<PreflightContext, 'signIn'>,
): Promise<void> {
  const ask = openMetadata({ place: state.operator, outbound, clock })
  const wanted = wantedIdentity(credential, upstream.settings.environment)
  const soon = { ...call, deadline: clock.now() + retriesMs }
  try {
    await withRetries({ clock, pause, random: Math.random }, soon, 'token', () =>
      ask(wanted, { ...call, deadline: clock.now() + knockMs }),
    )
  } catch (error) {
    throw missingIdentity(error, credential)
  }
}
