import type { KeyObject } from 'node:crypto'
import { z } from 'zod'
import { caCertificates } from '../../../core/outbound/outbound.ts'
import { refuse } from '../../../errors.ts'
import { checkPins, pinsField, shownPins } from '../../../jwt/keys/pins.ts'
import { parsePublicKeyPem } from '../../../jwt/keys/public-key-pem.ts'
import {
  boolField,
  commaListField,
  convertFields,
  durationField,
  stringField,
} from '../../../lib/text/fields.ts'

const day = 86_400

/** docs/contract/kubernetes.md#configuration. A write replaces everything. Durations are whole seconds. */
export const configFields = z.object({
  kubernetes_host: stringField
    .describe('Address of the API server')
    .meta({ examples: ['https://10.0.0.1:6443'] }),
  kubernetes_ca_cert: stringField.describe(
    'PEM certificates of its authorities; they replace those of the system',
  ),
  token_reviewer_jwt: stringField.meta({
    description: 'Token with which this server asks the API server',
    writeOnly: true,
  }),
  pem_keys: commaListField.describe('PEM keys or certificates, one of which must verify a token'),
  issuer: stringField.describe('Issuer of the tokens'),
  disable_iss_validation: boolField.default(true).describe('Do not compare the issuer'),
  disable_local_ca_jwt: boolField.describe('Use neither token nor certificate of the own service account'),
  use_annotations_as_alias_metadata: boolField.describe(
    'Annotations of the service account become metadata of the entity alias',
  ),
  verification: stringField
    .default('review')
    .describe('`review`: the API server judges each token; `keys`: its public keys do')
    .meta({ examples: ['review', 'keys'] }),
  token_max_lifetime: durationField
    .default(day)
    .describe('With `keys`: the longest lifetime of a token that is accepted; 0 is any'),
  allowed_key_thumbprints: pinsField,
})

/** A configuration as written and as stored. */
export type Config = z.output<typeof configFields>

/** A configuration with what is made of it once for many logins. */
export type ReadyConfig = {
  readonly config: Config
  /** The address of the API server, without a slash at the end. */
  readonly url: string
  readonly keys: readonly KeyObject[]
  /** When it was written, in milliseconds since the epoch; 0 if that was not stored. */
  readonly written: number
}

/** The keys of the cluster judge a token, and not the cluster. docs/contract/kubernetes.md#keys */
export const byKeys = ({ config }: Pick<ReadyConfig, 'config'>): boolean => config.verification === 'keys'

const scheme = /^([a-z][a-z0-9+.-]*):\/\//i

/** Names without a scheme are reached by https. */
function urlOf(host: string): string {
  const trimmed = host.trim()
  return (scheme.test(trimmed) ? trimmed : `https://${trimmed}`).replace(/([^:/])\/+$/, '$1')
}

/** Why no API server can be at this address. */
function hostProblem(host: string): string | undefined {
  if (/\s/.test(host.trim())) return 'it has white space'
  const url = URL.parse(urlOf(host))
  if (url === null) return 'it is no URL'
  if (url.protocol !== 'https:' && url.protocol !== 'http:') return 'it is neither https nor http'
  if (url.username !== '' || url.password !== '') return 'it names a user'
  return /[?#]/.test(host) ? 'it has a query or a fragment' : undefined
}

/** What a write is compared with. */
export type ConfigPlace = { readonly localCa: { readonly path: string; readonly isThere: boolean } }

/** Throws the first refusal, in the order of docs/contract/kubernetes.md#what-a-write-refuses. */
export function checkConfig(config: Config, { localCa }: ConfigPlace): void {
  const { kubernetes_host: host, kubernetes_ca_cert: ca, verification, issuer } = config
  if (host === '') throw refuse('invalid', 'no host provided')
  const problem = hostProblem(host)
  if (problem !== undefined) throw refuse('invalid', `invalid kubernetes_host: ${problem}`)
  if (ca !== '' && caCertificates(ca).length === 0)
    throw refuse('invalid', 'The provided CA PEM data contains no valid certificates')
  if (config.pem_keys.some((pem) => keyOf(pem) === undefined))
    throw refuse('invalid', 'data does not contain any valid public keys')
  if (ca === '' && !config.disable_local_ca_jwt && !localCa.isThere)
    throw refuse('invalid', `open ${localCa.path}: no such file or directory`)
  if (verification !== 'review' && verification !== 'keys')
    throw refuse('invalid', 'invalid verification, must be one of: review, keys')
  if (verification === 'keys' && issuer === '')
    throw refuse('invalid', `'issuer' must be set when verification is "keys"`)
  const { allowed_key_thumbprints: pins } = config
  checkPins(pins)
  if (pins.length > 0 && verification !== 'keys')
    throw refuse(
      'invalid',
      `'allowed_key_thumbprints' needs verification "keys": the cluster does not say which key signed`,
    )
}

/** A key that can verify a token of a cluster. */
function keyOf(pem: string): KeyObject | undefined {
  const parsed = parsePublicKeyPem(pem)
  return 'key' in parsed && /^(?:rsa|ec)$/.test(parsed.key.asymmetricKeyType ?? '') ? parsed.key : undefined
}

/** What a write stores. */
export const storedConfig = (sent: Config): Config => ({
  ...sent,
  token_reviewer_jwt: sent.token_reviewer_jwt.trim(),
})

/** Parses a stored record. */
export function readConfig(stored: unknown): ReadyConfig {
  const record: { written?: unknown } = Object(stored)
  const config = convertFields(configFields, { ...record }).values
  return {
    config,
    url: urlOf(config.kubernetes_host),
    keys: config.pem_keys.flatMap((pem) => keyOf(pem) ?? []),
    written: Number(record.written ?? 0),
  }
}

/** As a read shows it. */
export const shownConfig = ({
  config: { token_reviewer_jwt, allowed_key_thumbprints: pins, ...shown },
}: ReadyConfig): object => ({
  ...shown,
  ...shownPins(pins),
  token_reviewer_jwt_set: token_reviewer_jwt !== '',
})
