/** What an assertion said, and about whom. */
export type Presented = {
  readonly clientId: string
  readonly issuer: string
  readonly subject: string
  readonly audience: string
  /** Where the keys of the issuer are. */
  readonly jwksUri: string
  /** What the trust is to be called. */
  readonly name?: string
}

/** Why the login service refused an assertion, and what to do about it. */
export type Refusal = { readonly cause: string; readonly fix: string }

const untrusted = {
  AADSTS700211: 'the issuer is not trusted',
  AADSTS700213: 'the subject is not trusted',
  AADSTS70021: 'the subject is not trusted',
  AADSTS700212: 'the audience is not trusted',
} as const

const unreachable = ['AADSTS50166', 'AADSTS501661', 'AADSTS90061']

/** The codes with which the login service refuses an assertion. */
export const assertionCodes = [
  ...Object.keys(untrusted),
  ...unreachable,
  ...['AADSTS7002138', 'AADSTS7000272', 'AADSTS700024', 'AADSTS700027', 'AADSTS700222'],
]

/** Quotes a text for a POSIX shell. */
export const shellQuoted = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`

/** The command that adds a certificate, which was saved in a file, to an application. */
export const uploadCommand = (clientId: string): string =>
  `az ad app credential reset --id ${shellQuoted(clientId)} --append --cert @gatehouse-root.pem`

/** The command that makes an application trust an issuer, a subject and an audience. */
export function trustCommand({
  clientId,
  issuer,
  subject,
  audience,
  name = 'gatehouse',
}: Omit<Presented, 'jwksUri'>): string {
  const parameters = { name, issuer, subject, audiences: [audience] }
  return `az ad app federated-credential create --id ${shellQuoted(clientId)} --parameters ${shellQuoted(JSON.stringify(parameters))}`
}

/**
 * Explains the refusal of an assertion by its code; undefined for codes that are not about assertions.
 * `isOwnTrust`: the engine made the trust.
 * docs/contract/cloud.md#refused-assertions
 */
export function explainRefusal(
  code: string,
  presented: Presented,
  { isOwnTrust = false }: { readonly isOwnTrust?: boolean } = {},
): Refusal | undefined {
  const { issuer, subject, jwksUri } = presented
  const cause = Object.entries(untrusted).find(([known]) => known === code)?.[1]
  if (cause !== undefined)
    return {
      cause,
      fix: isOwnTrust ? 'write the role again, which renews the trust' : trustCommand(presented),
    }
  if (unreachable.includes(code))
    return {
      cause: `the cloud cannot reach the issuer ${issuer}`,
      fix: `make ${issuer}/.well-known/openid-configuration and ${jwksUri} public, and nothing else`,
    }
  switch (code) {
    case 'AADSTS7002138':
      return {
        cause: 'the trust differs in upper and lower case',
        fix: `the token says issuer ${issuer} and subject ${subject}: write the trust in the same letters; this shows it: az ad app federated-credential list --id ${shellQuoted(presented.clientId)}`,
      }
    case 'AADSTS7000272':
      return {
        cause: 'the key that signed is not among the published ones',
        fix: `compare the kid in the header of the token with ${jwksUri}, and look at the cache of the proxy in front of it`,
      }
    case 'AADSTS700027':
      return { cause: 'the certificate is not on the application', fix: uploadCommand(presented.clientId) }
    case 'AADSTS700024':
      return {
        cause: 'the assertion is outside its time',
        fix: 'set the clock; see clock_offset in config/check',
      }
    case 'AADSTS700222':
      return {
        cause: 'tokens of this identity are not accepted as assertions',
        fix: 'use a user-assigned managed identity of the same tenant',
      }
    default:
      return undefined
  }
}
