import { z } from 'zod'

/** Which cross-origin pages may read responses. docs/contract/http.md#pages-of-other-origins */
const stored = z.object({
  /** Compared byte for byte with the `Origin` header; `*` alone allows every origin. */
  origins: z.array(z.string()),
  /** Request headers that are allowed in addition to the default ones. */
  headers: z.array(z.string()),
  credentials: z.boolean(),
})
export type CorsSettings = z.output<typeof stored>

/** Vault's default request headers: a client that compares what it wrote with what it reads knows these. */
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
]

/** Allowed too, but only preflights name them. docs/contract/http.md#pages-of-other-origins */
const unlistedHeaders = ['X-Vault-Namespace', 'If-None-Match']

type Configured = Pick<CorsSettings, 'headers'>

/** The default and the configured request headers, as `sys/config/cors` shows them. */
export const listedHeaders = ({ headers }: Configured): string[] => distinct([...defaultHeaders, ...headers])

/** All request headers that a page may send, for preflights. docs/contract/messages.md#entity-tags */
export const allowedHeaders = ({ headers }: Configured): string[] =>
  distinct([...defaultHeaders, ...unlistedHeaders, ...headers])

/** Without duplicates; names are case-insensitive. */
function distinct(names: readonly string[]): string[] {
  const byName = new Map<string, string>()
  for (const name of names) {
    const key = name.toLowerCase()
    if (!byName.has(key)) byName.set(key, name)
  }
  return [...byName.values()]
}

/** Parses a stored record; throws if it is invalid. */
export const readCorsSettings = (record: unknown): CorsSettings => stored.parse(record)
