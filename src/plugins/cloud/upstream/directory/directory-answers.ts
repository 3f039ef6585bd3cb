import { z } from 'zod'

const optionalText = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined)
const text = optionalText.transform((found) => found ?? '')
const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .array(item)
    .nullish()
    .transform((list) => list ?? [])

/** Whether a text can be an object id, which is a UUID. Nothing else is put into an address. */
export const isObjectId = (id: string): boolean => /^[0-9A-Za-z-]{1,64}$/.test(id)
/** An id that later requests use, so it must be valid. */
const objectIdAnswer = z.string().refine(isObjectId)

const passwordAnswer = z.object({
  keyId: z.string(),
  displayName: optionalText,
  /** The first three characters of the secret. */
  hint: optionalText,
  /** RFC 3339. */
  endDateTime: optionalText,
})

export const applicationAnswer = z.object({
  /** The object id; `appId` is the client id. */
  id: objectIdAnswer,
  appId: objectIdAnswer,
  displayName: text,
  tags: listOf(z.string()),
  createdDateTime: optionalText,
  passwordCredentials: listOf(passwordAnswer),
})

const keyAnswer = z.object({
  keyId: z.string(),
  /** The SHA-1 thumbprint of the certificate, in hexadecimal or in base64. */
  customKeyIdentifier: optionalText,
})
export const applicationKeysAnswer = z.object({ id: objectIdAnswer, keyCredentials: listOf(keyAnswer) })

/** `thumbprint` is in hexadecimal. */
export function hasThumbprint(
  { customKeyIdentifier = '' }: z.output<typeof keyAnswer>,
  thumbprint: string,
): boolean {
  const wanted = thumbprint.toLowerCase()
  return (
    customKeyIdentifier.toLowerCase() === wanted ||
    Buffer.from(customKeyIdentifier, 'base64').toString('hex') === wanted
  )
}

/** Whether the answer has the id is not documented. */
export const addedKeyAnswer = z.object({ keyId: objectIdAnswer.optional().catch(undefined) })
export const addedPasswordAnswer = z.object({
  keyId: objectIdAnswer,
  secretText: z.string().min(1),
  endDateTime: z.string().refine((time) => !Number.isNaN(Date.parse(time))),
})

/** A trust of an application in the tokens of an issuer. One with an expression in place of a subject has none. */
export const trustAnswer = z.object({
  name: z.string(),
  issuer: z.string().catch(''),
  subject: z.string().catch(''),
  audiences: z.array(z.string()).catch([]),
})

export const servicePrincipalAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  passwordCredentials: listOf(passwordAnswer),
})

export const groupAnswer = z
  .object({
    id: text,
    displayName: text,
    groupTypes: z.array(z.string()).nullish(),
    onPremisesSyncEnabled: z.boolean().nullish(),
    isAssignableToRole: z.boolean().nullish(),
  })
  .transform(({ id, displayName, groupTypes, onPremisesSyncEnabled, isAssignableToRole }) => ({
    id,
    displayName,
    isDynamic: groupTypes?.includes('DynamicMembership') === true,
    isFromOnPremises: onPremisesSyncEnabled === true,
    isRoleAssignable: isAssignableToRole === true,
  }))

const offeredRole = z.object({
  id: objectIdAnswer,
  value: text,
  isEnabled: z.boolean(),
  allowedMemberTypes: z.array(z.string()),
})
/** An application that offers permissions. `id` is the object id of its service principal. */
export const resourceAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  appRoles: listOf(offeredRole),
})
/** `resourceId` is the object id of the resource's service principal. */
export const appRoleAssignmentAnswer = z.object({
  id: z.string().min(1).max(200),
  resourceId: objectIdAnswer,
  appRoleId: objectIdAnswer,
})
const size = z.object({ used: z.number(), total: z.number() })
export const organizationAnswer = z.object({
  value: z.array(z.object({ directorySizeQuota: size.nullish() })),
})

export type PasswordCredential = z.output<typeof passwordAnswer>
export type Application = z.output<typeof applicationAnswer>
export type AddedPassword = z.output<typeof addedPasswordAnswer>
export type FederatedCredential = z.output<typeof trustAnswer>
export type ServicePrincipal = z.output<typeof servicePrincipalAnswer>
export type Resource = z.output<typeof resourceAnswer>
export type Group = z.output<typeof groupAnswer>
