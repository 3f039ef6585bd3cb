import { z } from 'zod'

/** Which pages of other origins may read answers here. docs/contract/http.md#pages-of-other-origins */
export type CorsSettings = {
  /** As browsers send them, compared byte for byte; `*` alone is every origin. */
  readonly origins: readonly string[]
  /** Request headers that are allowed beside the usual ones. */
  readonly headers: readonly string[]
  readonly credentials: boolean
}

/**
 * Request headers that every allowed page may send. docs/contract/http.md#pages-of-other-origins,
 * docs/contract/messages.md#entity-tags
 */
const usualHeaders = [
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

/** The usual request headers and the configured ones, each name once whatever its case. */
export function allowedHeaders({ headers }: Pick<CorsSettings, 'headers'>): readonly string[] {
  const byName = new Map<string, string>()
  for (const name of [...usualHeaders, ...headers]) {
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

/** The settings in a stored record; throws when it is none. */
export const readCorsSettings = (record: unknown): CorsSettings => stored.parse(record)
