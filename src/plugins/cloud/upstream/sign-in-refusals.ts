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

type Explain = (presented: Presented, circumstances: Circumstances) => Refusal

const discoveryOf = ({ issuer }: Presented): string => `${issuer}/.well-known/openid-configuration`
const keysOf = (presented: Presented): string =>
  presented.jwksUri ?? `the keys that ${discoveryOf(presented)} names`
const kidOf = ({ keyId = 'of the token' }: Presented): string => `kid ${keyId}`

const renewalOf = ({ renewal }: Circumstances): string | undefined =>
  renewal === undefined ? undefined : `write the role again, which renews the trust: ${renewal}`

const untrusted =
  (what: string, repair = repairCommand): Explain =>
  (presented, circumstances) => ({
    cause: `the ${what} is not trusted`,
    fix: renewalOf(circumstances) ?? repair(presented),
  })

const unreachable: Explain = (presented) => ({
  cause: `the cloud cannot reach the issuer ${presented.issuer}`,
  fix: `make ${discoveryOf(presented)} and ${presented.jwksUri ?? 'the keys that it names'} public over https, and nothing else`,
})

/** Of tokens that are no assertions for the login service, whatever they say. */
const unfit: Explain = ({ issuer }) => ({
  cause: 'the login service does not accept such tokens',
  fix: `the platform that issues the assertion of ${issuer} must sign it with RS256 and name its key`,
})

/** Which of them the login service names depends on the other trusts of the application. */
const trustRefusals: Readonly<Record<string, Explain>> = {
  AADSTS700211: untrusted('issuer'),
  AADSTS700213: untrusted('subject'),
  AADSTS70021: untrusted('subject'),
  AADSTS700212: untrusted('audience', replaceCommand),
}

const refusals: Readonly<Record<string, Explain>> = {
  ...trustRefusals,
  AADSTS50166: unreachable,
  AADSTS501661: unreachable,
  AADSTS90061: unreachable,
  AADSTS7002138: (presented, circumstances) => ({
    cause: 'the trust differs in upper and lower case',
    fix:
      renewalOf(circumstances) ??
      `the token says issuer ${presented.issuer} and subject ${presented.subject}; this shows how the trusts spell them: ${trusts('list', presented.clientId)}; remove the one that differs, and write it in the same letters: ${repairCommand(presented)}`,
  }),
  AADSTS7000272: (presented) => ({
    cause: 'the key that signed is not among the published ones',
    fix: `look at the cache of the proxy in front of the issuer: ${keysOf(presented)} must list the ${kidOf(presented)}`,
  }),
  AADSTS700027: ({ clientId }, { endedAt }) =>
    endedAt === undefined
      ? {
          cause: 'the certificate is not on the application',
          fix: `save the certificate that config/certificate returns as gatehouse-root.pem, then: ${uploadCommand(clientId)}`,
        }
      : {
          cause: `the certificate ended ${endedAt}`,
          fix: `write config/certificate, which makes another one, save it as gatehouse-root.pem, then: ${uploadCommand(clientId)}`,
        },
  AADSTS700024: (_, circumstances) =>
    circumstances.endedAt === undefined
      ? {
          cause: 'the assertion is outside its time',
          fix: `set the clock of this server${offsetText(circumstances)}`,
        }
      : {
          cause: `the assertion ended ${circumstances.endedAt}`,
          fix: 'the platform that issues it must renew it in time',
        },
  AADSTS700021: ({ subject }) => ({
    cause: 'the assertion is for another client',
    fix: `the assertion says subject ${subject}: write client_id of the application whose certificate signed it`,
  }),
  AADSTS700023: ({ audience, clientId }) => ({
    cause: 'the audience of the assertion is not the token endpoint',
    fix: `the assertion says audience ${audience}: write tenant_id and environment of the application ${clientId}; CLOUD_AUTHORITY_HOST, if it is set, must name the login service itself`,
  }),
  AADSTS50013: (presented) => ({
    cause: 'the signature of the assertion does not verify',
    fix: `${keysOf(presented)} must have the key that signs as ${kidOf(presented)}`,
  }),
  AADSTS50027: unfit,
  AADSTS5002738: unfit,
  AADSTS700222: () => ({
    cause: 'tokens of this identity are not accepted as assertions',
    fix: "write managed_identity_client_id, of a user-assigned identity of the same tenant; this lists them: az identity list --query '[].[name, clientId]' --output tsv",
  }),
}

export const assertionCodes = Object.keys(refusals)

export const isUntrusted = (code: string): boolean => Object.hasOwn(trustRefusals, code)

/** Undefined for codes that are not about assertions. docs/contract/cloud.md#refused-assertions */
export const explainRefusal = (
  code: string,
  presented: Presented,
  circumstances: Circumstances = {},
): Refusal | undefined =>
  Object.hasOwn(refusals, code) ? refusals[code]?.(presented, circumstances) : undefined

function offsetText({ clockOffsetMs }: Circumstances): string {
  if (clockOffsetMs === undefined) return '; see clock_offset in config/check'
  const seconds = Math.round(clockOffsetMs / 1000)
  return `, which is ${Math.abs(seconds)} s ${seconds < 0 ? 'ahead of' : 'behind'} that of the cloud; see clock_offset in config/check`
}
