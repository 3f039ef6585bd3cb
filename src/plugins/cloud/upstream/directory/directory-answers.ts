import { z } from 'zod'

const optionalText = z
  .string()
  .nullish()
  .transform((text) => text ?? undefined)

/** Whether a text can be an object id, which is a UUID. Nothing else is put into an address. */
export const isObjectId = (text: string): boolean => /^[0-9A-Za-z-]{1,64}$/.test(text)
/** An id that later requests use, so it must be valid. */
const objectIdAnswer = z.string().refine(isObjectId)

const passwordAnswer = z.object({
  keyId: z.string(),
  displayName: optionalText,
  hint: optionalText,
  endDateTime: optionalText,
})
const passwords = z
  .array(passwordAnswer)
  .nullish()
  .transform((list) => list ?? [])
const tags = z
  .array(z.string())
  .nullish()
  .transform((list) => list ?? [])

export const applicationAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  displayName: optionalText.transform((name) => name ?? ''),
  tags,
  createdDateTime: optionalText,
  passwordCredentials: passwords,
})
export const applicationKeysAnswer = z.object({
  id: objectIdAnswer,
  keyCredentials: z
    .array(z.object({ keyId: z.string(), customKeyIdentifier: optionalText }))
    .nullish()
    .transform((list) => list ?? []),
})
/** Whether the answer has the id is not documented. */
export const addedKeyAnswer = z.object({ keyId: objectIdAnswer.optional().catch(undefined) })
export const addedPasswordAnswer = z.object({
  keyId: objectIdAnswer,
  secretText: z.string().min(1),
  endDateTime: z.string().refine((time) => !Number.isNaN(Date.parse(time))),
})
export const servicePrincipalAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  passwordCredentials: passwords,
})
export const groupAnswer = z
  .object({
    id: optionalText.transform((id) => id ?? ''),
    displayName: optionalText.transform((name) => name ?? ''),
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
export const resourceAnswer = z.object({
  id: objectIdAnswer,
  appId: objectIdAnswer,
  appRoles: z
    .array(
      z.object({
        id: objectIdAnswer,
        value: optionalText.transform((value) => value ?? ''),
        isEnabled: z.boolean(),
        allowedMemberTypes: z.array(z.string()),
      }),
    )
    .nullish()
    .transform((list) => list ?? []),
})
export const appRoleAssignmentAnswer = z.object({
  id: z.string().min(1).max(200),
  resourceId: objectIdAnswer,
  appRoleId: objectIdAnswer,
})
const size = z.object({ used: z.number(), total: z.number() })
export const organizationAnswer = z.object({
  value: z.array(z.object({ directorySizeQuota: size.nullish() })),
})
