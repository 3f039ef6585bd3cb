import { compactVerify } from 'jose'
import { ApiError } from './api-error.ts'
import type { ApiParts } from './api-parts.ts'
import { audiencesOf, isInTime, readAssertion } from './assertion.ts'
import type { Call, Route } from './call.ts'
import { mayCaller } from './directory-permissions.ts'
import { entityReply, getSeen, readId, resourceMissing } from './graph-answers.ts'
import { isNamedBy, type KeyCredential, liveKeys, makeKeyCredential, showKey } from './key-credentials.ts'
import { policyRefusal } from './passwords.ts'
import type { Settings } from './settings.ts'
import type { Application } from './tenant.ts'

const proofAudience = '00000002-0000-0000-c000-000000000000'
const longestProofSeconds = 600

/** Certificates of applications, changed with a proof by one of them. simulators/directory/README.md */
export function keyRoutes({ tenant, settings }: ApiParts): Route[] {
  /** An application needs no permission to change its own keys. */
  const proven = async (call: Call): Promise<Application> => {
    const application = getSeen(call, tenant.applications, readId(call.params.id))
    if (application.deletedAt !== undefined) throw resourceMissing(application.id)
    if (call.caller?.appid !== application.appId) mayCaller.changeHolder(call, application)
    await checkProof(call, application)
    return application
  }
  return [
    {
      operation: 'addKey',
      method: 'POST',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)\/addKey$/,
      handle: async (call) => {
        const application = await proven(call)
        const key = readKey(call.body.keyCredential, call.view.now, settings())
        application.keys.push(key)
        const { keyId, ...shown } = showKey(key)
        const entity = settings().addKeyShowsKeyId ? { keyId, ...shown } : shown
        return entityReply(call, { context: 'microsoft.graph.keyCredential', entity })
      },
    },
    {
      operation: 'removeKey',
      method: 'POST',
      path: /^\/v1\.0\/applications\/(?<id>[^/]+)\/removeKey$/,
      handle: async (call) => {
        const application = await proven(call)
        const key = liveKeys(application).find(({ keyId }) => keyId === call.body.keyId)
        if (key === undefined) throw badRequest('No credentials found to be removed.')
        key.deletedAt = call.view.now
        return { status: 204 }
      },
    },
  ]
}

/** The certificates that replace those of an application; one with a known key id and no key stays. */
export function readKeys(
  requested: unknown,
  { known, now, settings }: { known: readonly KeyCredential[]; now: number; settings: Settings },
): KeyCredential[] {
  if (!Array.isArray(requested)) throw invalidValue('keyCredentials')
  return requested.map((one: unknown) => {
    const { keyId, key = null } = asRecord(one)
    const kept = key === null ? known.find((other) => other.keyId === keyId) : undefined
    return kept ?? readKey(one, now, settings)
  })
}

function readKey(requested: unknown, now: number, settings: Settings): KeyCredential {
  const { type, usage, key, displayName = null, startDateTime, endDateTime } = asRecord(requested)
  if (settings.forbidCertificates) throw policyRefusal()
  if (type !== 'AsymmetricX509Cert') throw invalidValue('type')
  if (usage !== 'Verify') throw invalidValue('usage')
  if (typeof key !== 'string') throw invalidValue('key')
  if (displayName !== null && typeof displayName !== 'string') throw invalidValue('displayName')
  const made = parsed(Buffer.from(key, 'base64'), {
    displayName,
    createdAt: now,
    startsAt: readTime(startDateTime),
    endsAt: readTime(endDateTime),
  })
  if (made.endsAt <= now) throw badRequest('Key credential end date is invalid.')
  return made
}

function parsed(bytes: Buffer, fields: Parameters<typeof makeKeyCredential>[1]): KeyCredential {
  let own: KeyCredential
  try {
    own = makeKeyCredential(bytes, { createdAt: fields.createdAt })
  } catch {
    throw badRequest('Key value is invalid certificate')
  }
  if ((fields.endsAt ?? own.endsAt) > own.endsAt) throw badRequest('Key credential end date is invalid.')
  return makeKeyCredential(bytes, fields)
}

/**
 * The proof is signed with RS256 by a valid certificate of the application; its issuer is the object id.
 * Graph: application-rollkey-prooftoken
 */
async function checkProof({ body, view }: Call, application: Application): Promise<void> {
  const proof = typeof body.proof === 'string' ? readAssertion(body.proof) : undefined
  if (proof === undefined) throw badProof()
  const { iss, nbf = 0, exp = 0 } = proof.claims
  const isMeant = iss === application.id && audiencesOf(proof).includes(proofAudience)
  const isShort = exp - nbf <= longestProofSeconds
  const key = liveKeys(application).find((one) => isNamedBy(proof.header, one))
  if (!isMeant || !isShort || !isInTime(proof, view.now, 0) || key === undefined) throw badProof()
  if (key.startsAt > view.now || key.endsAt <= view.now) throw badProof()
  try {
    await compactVerify(proof.text, key.publicKey, { algorithms: ['RS256'] })
  } catch {
    throw badProof()
  }
}

function readTime(value: unknown): number | undefined {
  if (value === undefined || value === null) return undefined
  const time = typeof value === 'string' ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw invalidValue('endDateTime')
  return time
}

const asRecord = (value: unknown): Record<string, unknown> => {
  if (typeof value !== 'object' || value === null) throw invalidValue('keyCredential')
  return { ...value }
}

const badProof = () =>
  new ApiError(401, 'Authentication_MissingOrMalformed', 'Access Token missing or malformed.')

const badRequest = (message: string) => new ApiError(400, 'Request_BadRequest', message)

const invalidValue = (name: string) =>
  badRequest(`Invalid value specified for property '${name}' of resource 'KeyCredential'.`)
