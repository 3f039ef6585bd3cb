/** What an assertion said, and about whom. */
export type Presented = {
  readonly clientId: string
  readonly issuer: string
  readonly subject: string
  readonly audience: string
  /** When; milliseconds since the epoch. */
  readonly at: number
  /** The `kid` of the key that signed it. */
  readonly keyId?: string | undefined
  /** Where the keys of the issuer are. Undefined: its discovery document says so. */
  readonly jwksUri?: string | undefined
}

export type Circumstances = {
  /** The command that renews a trust which the engine made. */
  readonly renewal?: string | undefined
  /** How far the clock of the login service is ahead of ours. */
  readonly clockOffsetMs?: number | undefined
  /** When an assertion or a certificate that is not of this moment has ended. */
  readonly endedAt?: string | undefined
}

export type Refusal = { readonly cause: string; readonly fix: string }

/** Which of them the login service names depends on the other trusts of the application. */
const untrusted = {
  AADSTS700211: 'the issuer is not trusted',
  AADSTS700213: 'the subject is not trusted',
  AADSTS70021: 'the subject is not trusted',
  AADSTS700212: 'the audience is not trusted',
} as const

export const isUntrusted = (code: string): boolean => Object.hasOwn(untrusted, code)

const unreachable = ['AADSTS50166', 'AADSTS501661', 'AADSTS90061']

export const assertionCodes = [
  ...Object.keys(untrusted),
  ...unreachable,
  ...['AADSTS7002138', 'AADSTS7000272', 'AADSTS700024', 'AADSTS700027', 'AADSTS700222'],
  ...['AADSTS700021', 'AADSTS700023', 'AADSTS50013', 'AADSTS50027', 'AADSTS5002738'],
]

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
  name,
}: Pick<Presented, 'clientId' | 'issuer' | 'subject' | 'audience'> & { readonly name: string }): string {
  const parameters = { name, issuer, subject, audiences: [audience] }
  return `${trusts('create', clientId)} --parameters ${shellQuoted(JSON.stringify(parameters))}`
}

const trusts = (verb: 'create' | 'delete' | 'list', clientId: string): string =>
  `az ad app federated-credential ${verb} --id ${shellQuoted(clientId)}`

/** A trust that does not fit keeps its name, so that the one which repairs it needs another. */
const repairCommand = (presented: Presented): string => {
  const time = new Date(presented.at).toISOString().replaceAll(/\D/g, '').slice(0, 14)
  return trustCommand({ ...presented, name: `gatehouse-${time}` })
}

/** An application cannot have two trusts that differ in their audience only. */
function replaceCommand(presented: Presented): string {
  const { clientId, issuer, subject } = presented
  const query = `[?issuer==${literal(issuer)} && subject==${literal(subject)}].id`
  const found = `${trusts('list', clientId)} --query ${shellQuoted(query)} --output tsv`
  return `${trusts('delete', clientId)} --federated-credential-id "$(${found})" && ${repairCommand(presented)}`
}

const literal = (text: string): string => `\`${JSON.stringify(text).replaceAll('`', '\\u0060')}\``

/** Undefined for codes that are not about assertions. docs/contract/cloud.md#refused-assertions */
export function explainRefusal(
  code: string,
  presented: Presented,
  circumstances: Circumstances = {},
): Refusal | undefined {
  const { clientId, issuer, subject, audience, jwksUri } = presented
  const { renewal, endedAt } = circumstances
  const renew = renewal === undefined ? undefined : `write the role again, which renews the trust: ${renewal}`
  const discovery = `${issuer}/.well-known/openid-configuration`
  const cause = Object.entries(untrusted).find(([known]) => known === code)?.[1]
  if (cause !== undefined)
    return {
      cause,
      fix: renew ?? (code === 'AADSTS700212' ? replaceCommand(presented) : repairCommand(presented)),
    }
  if (unreachable.includes(code))
    return {
      cause: `the cloud cannot reach the issuer ${issuer}`,
      fix: `make ${discovery} and ${jwksUri ?? 'the keys that it names'} public over https, and nothing else`,
    }
  switch (code) {
    case 'AADSTS7002138':
      return {
        cause: 'the trust differs in upper and lower case',
        fix:
          renew ??
          `the token says issuer ${issuer} and subject ${subject}; this shows how the trusts spell them: ${trusts('list', clientId)}; remove the one that differs, and write it in the same letters: ${repairCommand(presented)}`,
      }
    case 'AADSTS7000272':
      return {
        cause: 'the key that signed is not among the published ones',
        fix: `look at the cache of the proxy in front of the issuer: ${jwksUri ?? `the keys that ${discovery} names`} must list the kid ${presented.keyId ?? 'of the token'}`,
      }
    case 'AADSTS700027':
      return endedAt === undefined
        ? {
            cause: 'the certificate is not on the application',
            fix: `save the certificate that config/certificate returns as gatehouse-root.pem, then: ${uploadCommand(clientId)}`,
          }
        : {
            cause: `the certificate ended ${endedAt}`,
            fix: `write config/certificate, which makes another one, save it as gatehouse-root.pem, then: ${uploadCommand(clientId)}`,
          }
    case 'AADSTS700024':
      return endedAt === undefined
        ? {
            cause: 'the assertion is outside its time',
            fix: `set the clock of this server${offsetText(circumstances)}`,
          }
        : {
            cause: `the assertion ended ${endedAt}`,
            fix: 'the platform that issues it must renew it in time',
          }
    case 'AADSTS700021':
      return {
        cause: 'the assertion is for another client',
        fix: `the assertion says subject ${subject}: write client_id of the application whose certificate signed it`,
      }
    case 'AADSTS700023':
      return {
        cause: 'the audience of the assertion is not the token endpoint',
        fix: `the assertion says audience ${audience}: write tenant_id and environment of the application ${clientId}; CLOUD_AUTHORITY_HOST, if it is set, must name the login service itself`,
      }
    case 'AADSTS50013':
      return {
        cause: 'the signature of the assertion does not verify',
        fix: `${jwksUri ?? `the keys that ${discovery} names`} must have the key that signs as kid ${presented.keyId ?? 'of the token'}`,
      }
    default:
      return explainKind(code, issuer)
  }
}

/** Of tokens that are no assertions for the login service, whatever they say. */
function explainKind(code: string, issuer: string): Refusal | undefined {
  switch (code) {
    case 'AADSTS50027':
    case 'AADSTS5002738':
      return {
        cause: 'the login service does not accept such tokens',
        fix: `the platform that issues the assertion of ${issuer} must sign it with RS256 and name its key`,
      }
    case 'AADSTS700222':
      return {
        cause: 'tokens of this identity are not accepted as assertions',
        fix: "write managed_identity_client_id, of a user-assigned identity of the same tenant; this lists them: az identity list --query '[].[name, clientId]' --output tsv",
      }
    default:
      return undefined
  }
}

function offsetText({ clockOffsetMs }: Circumstances): string {
  if (clockOffsetMs === undefined) return '; see clock_offset in config/check'
  const seconds = Math.round(clockOffsetMs / 1000)
  return `, which is ${Math.abs(seconds)} s ${seconds < 0 ? 'ahead of' : 'behind'} that of the cloud; see clock_offset in config/check`
}
