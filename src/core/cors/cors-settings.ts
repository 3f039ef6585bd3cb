import { z } from 'zod'

/** Which cross-origin pages may read responses. docs/contract/http.md#pages-of-other-origins */
export type CorsSettings = {
  /** Compared byte for byte with the `Origin` header; `*` alone allows every origin. */
  readonly origins: readonly string[]
  /** Request headers that are allowed in addition to the default ones. */
  readonly headers: readonly string[]
  readonly credentials: boolean
}

/**
 * Request headers that are always allowed. docs/contract/http.md#pages-of-other-origins,
 * docs/contract/messages.md#entity-tags
 */
const defaultHeaders = [
  'Content-Type',
  'Authorization',
  'X-Vault-Token',
  'X-Vault-MFA',
  'X-Vault-No-Request-Forwarding',
  'X-Vault-Wrap-Format',
  'X-Vault-Wrap-TTL',
  'X-Requested-With',
  'X-Vault-AWS-IAM-Server-ID',
  'X-Vault-Policy-Override',
  'X-Vault-Namespace',
  'If-None-Match',
]

/** The default and the configured request headers, without duplicates; names are case-insensitive. */
export function allowedHeaders({ headers }: Pick<CorsSettings, 'headers'>): readonly string[] {
  const byName = new Map<string, string>()
  for (const name of [...defaultHeaders, ...headers]) {
    const key = name.toLowerCase()
    if (!byName.has(key)) byName.set(key, name)
  }
  return [...byName.values()]
}

const stored = z.object({
  origins: z.array(z.string()),
  headers: z.array(z.string()),
  credentials: z.boolean(),
})

/** Parses a stored record; throws if it is invalid. */
export const readCorsSettings = (record: unknown): CorsSettings => stored.parse(record)
