import { isPlainObject, ownMember, type StrictObject } from '../../../jwt/jws/strict-json.ts'
import { type Refusal, refusal } from '../../../logins/refusals/refusal.ts'

/** The service account that a token names. Texts that a token lacks are empty. */
export type Account = {
  readonly namespace: string
  readonly name: string
  readonly uid: string
  /** The secret that holds the token; "" for a projected token. */
  readonly secretName: string
}

const prefix = 'kubernetes.io/serviceaccount/'
const fields = ['namespace', 'name', 'uid', 'secretName'] as const

/** Reads the claims of a projected token, or of one in a secret. docs/contract/kubernetes.md#claims */
export function readAccount(claims: StrictObject): Account | Refusal {
  const own = ownMember(claims, 'kubernetes.io') ?? undefined
  if (own !== undefined && !isPlainObject(own)) return undecodable('kubernetes.io')
  const account = own && (ownMember(own, 'serviceaccount') ?? {})
  if (account !== undefined && !isPlainObject(account)) return undecodable('kubernetes.io.serviceaccount')
  const read = {
    namespace: own ? ownMember(own, 'namespace') : ownMember(claims, `${prefix}namespace`),
    name: account ? ownMember(account, 'name') : ownMember(claims, `${prefix}service-account.name`),
    uid: account ? ownMember(account, 'uid') : ownMember(claims, `${prefix}service-account.uid`),
    secretName: ownMember(claims, `${prefix}secret.name`),
  }
  const texts = { namespace: '', name: '', uid: '', secretName: '' }
  for (const field of fields) {
    const value = read[field] ?? ''
    if (typeof value !== 'string') return undecodable(field)
    texts[field] = value
  }
  return texts
}

/** Begins the text about a claim of a service account that has another type. */
export const undecodablePrefix = 'decoding failed due to the following error(s):'

const undecodable = (claim: string): Refusal =>
  refusal(
    'claim_type_invalid',
    `${undecodablePrefix}\n\n'${claim}' has another type than that of a service account token`,
  )

const dnsLabel = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/
const dnsSubdomain = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/
const longestName = 253

/** Whether a cluster can have a namespace of this name: then it is one step of a path. */
export const isNamespace = (text: string): boolean => dnsLabel.test(text)

/** Whether a cluster can have a service account of this name. */
export const isAccountName = (text: string): boolean => text.length <= longestName && dnsSubdomain.test(text)
