import { randomBytes, randomUUID } from 'node:crypto'
import { ApiError } from './api-error.ts'
import type { Call } from './call.ts'
import { hasHeard, type View } from './consistency.ts'
import type { Settings } from './settings.ts'
import type { Holder, Password } from './tenant.ts'

const defaultLifetimeYears = 2
const forgottenMs = 600_000
/** Id of the tenant's app management policy. */
const policyId = '3f1c2f2e-58a2-4c3e-9a4e-51f0b2a0b6d7'
const personalAudiences = ['AzureADandPersonalMicrosoftAccount', 'PersonalMicrosoftAccount']

/**
 * Adds the requested password and returns it with its text, which no other response has.
 * simulators/directory/README.md
 */
export function addPassword(call: Call, holder: Holder, settings: Settings): Record<string, unknown> {
  const requested = call.body.passwordCredential ?? {}
  if (typeof requested !== 'object' || requested === null || Array.isArray(requested))
    throw invalidValue('passwordCredential')
  const { displayName = null, startDateTime, endDateTime }: Record<string, unknown> = { ...requested }
  if (displayName !== null && typeof displayName !== 'string') throw invalidValue('displayName')
  const startsAt = readTime(startDateTime, 'startDateTime') ?? call.view.now
  const endsAt = readTime(endDateTime, 'endDateTime') ?? inYears(startsAt, defaultLifetimeYears)
  if (endsAt <= startsAt) throw invalidValue('endDateTime')
  checkLimits(holder, { startsAt, endsAt }, settings)
  const password = makePassword({ displayName, startsAt, endsAt, createdAt: call.view.now })
  holder.passwords = [
    ...holder.passwords.filter(
      ({ deletedAt }) => deletedAt === undefined || deletedAt + forgottenMs > call.view.now,
    ),
    password,
  ]
  return { ...showPassword(password), secretText: password.secretText }
}

/** Throws 400 for an unknown key. simulators/directory/README.md */
export function removePassword(call: Call, holder: Holder): void {
  const { keyId } = call.body
  if (typeof keyId !== 'string') throw invalidValue('keyId')
  const password = livePasswords(holder).find((one) => one.keyId === keyId.toLowerCase())
  if (password === undefined)
    throw new ApiError(400, 'Request_BadRequest', `No password credential found with keyId '${keyId}'.`)
  password.deletedAt = call.view.now
}

export function makePassword(
  fields: Omit<Password, 'keyId' | 'hint' | 'secretText'> & { secretText?: string },
): Password {
  const secretText = fields.secretText ?? makeSecretText()
  return { ...fields, keyId: randomUUID(), secretText, hint: secretText.slice(0, 3) }
}

export const livePasswords = (holder: Holder): Password[] =>
  holder.passwords.filter(({ deletedAt }) => deletedAt === undefined)

/** A password in a read, without its text. */
export const showPassword = (password: Password) => ({
  customKeyIdentifier: null,
  displayName: password.displayName,
  endDateTime: new Date(password.endsAt).toISOString(),
  hint: password.hint,
  keyId: password.keyId,
  secretText: null,
  startDateTime: new Date(password.startsAt).toISOString(),
})

/**
 * The verdict of the token endpoint on a secret. It refuses a secret that never existed, was removed, has not
 * reached this replica yet, or belongs to a deleted object.
 */
export function secretVerdict(
  view: View,
  holders: readonly (Holder | undefined)[],
  secretText: string,
): 'good' | 'expired' | 'refused' {
  for (const holder of holders) {
    const password = holder?.passwords.find((one) => one.secretText === secretText)
    if (holder === undefined || password === undefined) continue
    const goneAt = Math.min(
      password.deletedAt ?? Number.POSITIVE_INFINITY,
      holder.deletedAt ?? Number.POSITIVE_INFINITY,
    )
    if (
      !hasHeard(view, password.createdAt, 'secretToToken') ||
      hasHeard(view, goneAt, 'removedSecretToToken')
    )
      return 'refused'
    if (password.endsAt <= view.now) return 'expired'
    return password.startsAt <= view.now ? 'good' : 'refused'
  }
  return 'refused'
}

function checkLimits(
  holder: Holder,
  { startsAt, endsAt }: { startsAt: number; endsAt: number },
  settings: Settings,
): void {
  const count = livePasswords(holder).length
  const longest = settings.maximumSecretLifetimeSeconds
  if (settings.forbidPasswords) throw policyRefusal()
  if (longest !== null && endsAt - startsAt > longest * 1000) {
    const message = `Credential lifetime exceeds the max value allowed as per assigned policy '${policyId}'.`
    const details = [{ code: 'InvalidKeyEndDate', message, target: 'EndDate' }]
    throw new ApiError(400, 'CredentialInvalidLifetimeAsPerAppPolicy', message, { details })
  }
  if ('signInAudience' in holder && personalAudiences.includes(String(holder.signInAudience)) && count >= 2) {
    const details = [
      {
        code: 'TooManyAppPasswords',
        target: 'passwordCredentials',
        message: 'The credential limit has been reached.',
      },
    ]
    const message =
      'The credential limit has been reached. You can only add a maximum of 2 encrypted credentials.'
    throw new ApiError(400, 'TooManyAppPasswords', message, { details })
  }
  const most = settings.quotas.passwordsPerApplication
  if (most !== null && count >= most) {
    const message =
      'The size of the object has exceeded its limit. Please reduce the number of values and retry your request.'
    throw new ApiError(400, 'Directory_ResourceSizeExceeded', message)
  }
}

export const policyRefusal = () =>
  new ApiError(
    400,
    'CredentialTypeNotAllowedAsPerAppPolicy',
    `Credential type not allowed as per assigned policy '${policyId}'.`,
  )

function readTime(value: unknown, name: string): number | undefined {
  if (value === undefined || value === null) return undefined
  const time =
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(time)) throw invalidValue(name)
  return time
}

function inYears(time: number, years: number): number {
  const date = new Date(time)
  return date.setUTCFullYear(date.getUTCFullYear() + years)
}

const invalidValue = (name: string) =>
  new ApiError(
    400,
    'Request_BadRequest',
    `Invalid value specified for property '${name}' of resource 'PasswordCredential'.`,
  )

/** 40 characters including a `~`, like real secrets. */
function makeSecretText(): string {
  const text = randomBytes(30).toString('base64url')
  return `${text.slice(0, 3)}8Q~${text.slice(6)}`
}
