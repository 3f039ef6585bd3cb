import { z } from 'zod'
import { faultFields } from './fault-fields.ts'

const seconds = z.number().min(0).default(0)
const limit = z.int().min(0).nullable().default(null)

/**
 * Replication delays between the parts of the cloud, in seconds with fractions.
 * simulators/directory/README.md
 */
const delayFields = z.strictObject({
  applicationToServicePrincipal: seconds.describe(
    'a new application cannot get a service principal: three different errors in turn',
  ),
  applicationToToken: seconds.describe('a new application is unknown to the token endpoint: 700016'),
  servicePrincipalToPassword: seconds.describe('a new service principal is not found by its addPassword'),
  servicePrincipalToResourceManager: seconds.describe('PrincipalNotFound, unless the principalType is sent'),
  servicePrincipalToGroup: seconds.describe('a new service principal cannot be a member'),
  rightToRemoval: seconds.describe('a new membership or role assignment is not found by its removal'),
  servicePrincipalToAppRole: seconds.describe('a new service principal cannot get an app role'),
  secretToToken: seconds.describe('a new secret is refused: 7000215'),
  removedSecretToToken: seconds.describe('a removed secret, or one of a deleted application, still works'),
  trustToToken: seconds.describe('a new trust is unknown to the token endpoint; a removed one works'),
  certificateToToken: seconds.describe('a new certificate is refused: 700027; a removed one works'),
  deletedToBin: seconds.describe('what was deleted is not among the deleted items'),
  deletedServicePrincipalName: seconds.describe('the name of a deleted service principal is still in use'),
  changeToRead: seconds.describe(
    'what was created is not found by its id, what was deleted still is; passwords within what is read too',
  ),
  changeToList: seconds.describe('the same for lists and filters'),
})

const rateLimit = z
  .strictObject({ requests: z.int().min(1), perSeconds: z.number().positive() })
  .nullable()
  .default(null)

/** All settings with their defaults. */
export const settingsFields = z.strictObject({
  delaySeconds: delayFields.prefault({}),
  replicas: z
    .int()
    .min(1)
    .max(100)
    .default(1)
    .describe('they hear of a change one after the other; requests go to each in turn'),
  pageSize: z.int().min(1).max(999).default(100),
  clockOffsetSeconds: z.number().default(0).describe('how far the clock of the stand-in is ahead'),
  tokenLifetimeSeconds: z.int().min(1).default(3599),
  quotas: z
    .strictObject({
      directoryObjects: limit.describe(
        'applications, service principals and groups; a deleted one counts a quarter',
      ),
      roleAssignments: limit,
      passwordsPerApplication: limit,
    })
    .prefault({}),
  maximumSecretLifetimeSeconds: z.number().positive().nullable().default(null),
  forbidPasswords: z
    .boolean()
    .default(false)
    .describe('a policy of the tenant allows no secrets: CredentialTypeNotAllowedAsPerAppPolicy'),
  forbidCertificates: z.boolean().default(false).describe('the same for certificates'),
  addKeyShowsKeyId: z.boolean().default(true).describe('whether the response of addKey has the key id'),
  lockServicePrincipals: z
    .enum(['never', 'by-default', 'always'])
    .default('never')
    .describe(
      'secrets of service principals cannot be changed: where the application does not say, or whatever it says',
    ),
  isSilent: z.boolean().default(false).describe('errors have a status and codes, but no text'),
  requireServiceManagementReference: z.boolean().default(false),
  directoryPermissions: z
    .union([z.enum(['All', 'OwnedBy', 'None']), z.array(z.string())])
    .default('All')
    .describe('of the root; in its tokens from the next one on'),
  rootRoles: z
    .array(z.string())
    .default(['Owner'])
    .describe('names of the definitions the root has on the subscription; they hold at once'),
  rootResourceGroups: z
    .array(z.string())
    .nullable()
    .default(null)
    .describe('it has them on these resource groups only'),
  rateLimits: z
    .strictObject({
      login: rateLimit,
      directory: rateLimit,
      'resource-manager': rateLimit,
      metadata: rateLimit,
    })
    .prefault({}),
  issuers: z
    .strictObject({
      cacheSeconds: z.number().min(0).default(300).describe('how long the keys of an issuer are kept'),
      refetchOnUnknownKey: z
        .boolean()
        .default(true)
        .describe('whether an unknown key id makes the platform fetch the keys before that time'),
      clockSkewSeconds: z.number().min(0).default(300),
      timeoutMs: z.int().min(1).default(5000),
      addresses: z
        .record(z.string(), z.string())
        .default({})
        .describe('where the documents of an origin are fetched, as name resolution would'),
      ca: z.string().nullable().default(null).describe('PEM; trusted for issuers over TLS'),
    })
    .prefault({}),
  metadata: z
    .strictObject({
      systemAssigned: z.boolean().default(true).describe('whether the host has its own identity'),
      cacheSeconds: z
        .number()
        .min(0)
        .default(0)
        .describe('how long the same token is returned, with its old roles and expiry'),
      tokenLifetimeSeconds: z.int().min(1).default(86_400),
    })
    .prefault({}),
  strictConcurrency: z
    .boolean()
    .default(false)
    .describe('two password changes of one application at a time: 409 for the second'),
  chaos: z
    .strictObject({
      seed: z.int(),
      probability: z.number().min(0).max(1),
      faults: z.array(faultFields).min(1),
    })
    .nullable()
    .default(null)
    .describe(
      'any request meets one of these faults with that probability, always the same ones for the same seed and order of requests',
    ),
})
export type Settings = z.output<typeof settingsFields>
export type SettingsInput = z.input<typeof settingsFields>
export type Delays = z.output<typeof delayFields>

/** Changes the given settings and keeps the others, also within groups. Throws for an unknown setting. */
export function changeSettings(settings: Settings, change: SettingsInput): Settings {
  const changed = settingsFields.parse({
    ...settings,
    ...change,
    delaySeconds: { ...settings.delaySeconds, ...change.delaySeconds },
    quotas: { ...settings.quotas, ...change.quotas },
    rateLimits: { ...settings.rateLimits, ...change.rateLimits },
    issuers: { ...settings.issuers, ...change.issuers },
    metadata: { ...settings.metadata, ...change.metadata },
  })
  // keep the object unless the chaos changes: it holds the state of the random generator
  return change.chaos === undefined ? { ...changed, chaos: settings.chaos } : changed
}
