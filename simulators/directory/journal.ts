import { readAssertion } from './assertion.ts'
import type { Operation, ServiceName } from './operations.ts'

/** A request, recorded when it has arrived completely. The outcome is added when it is known. */
export type JournalEntry = {
  /** Time of arrival in milliseconds since the epoch, on the stand-in's clock. */
  at: number
  service: ServiceName
  operation: Operation
  method: string
  path: string
  query: string
  replica: number
  /** Whether it had an Authorization header. */
  hasToken: boolean
  /** The caller named by the token or the token request. */
  clientId?: string | undefined
  clientRequestId: string
  requestId: string
  /** The body as sent, without secrets. */
  body?: Record<string, unknown>
  /** The header and the claims of a client assertion; its text is a secret. */
  assertion?: { header: object; claims: object }
  /** Absent until there is a response. */
  status?: number
  /** The error code. */
  code?: string
  /** The number of an error of the login service, as in `AADSTS<number>`. */
  number?: number
  fault?: string
}

type JournalFilter = { service?: ServiceName; operation?: Operation; method?: string }

export type Journal = {
  note(entry: JournalEntry): void
  entries(filter?: JournalFilter): JournalEntry[]
  clear(): void
  /** Resolves when `count` requests of this operation have arrived since the journal was last cleared. */
  arrived(operation: Operation, count?: number): Promise<void>
}

const limit = 200_000

export function makeJournal(): Journal {
  let entries: JournalEntry[] = []
  const countByOperation = new Map<Operation, number>()
  let waiting: { operation: Operation; count: number; resolve: () => void }[] = []

  const isThere = (operation: Operation, count: number) => (countByOperation.get(operation) ?? 0) >= count

  return {
    note: (entry) => {
      const { client_assertion: text } = entry.body ?? {}
      const assertion = typeof text === 'string' ? readAssertion(text) : undefined
      if (assertion !== undefined) entry.assertion = { header: assertion.header, claims: assertion.claims }
      if (entry.body !== undefined) entry.body = withoutSecrets(entry.body)
      entries.push(entry)
      if (entries.length > limit) entries = entries.slice(limit / 2)
      countByOperation.set(entry.operation, (countByOperation.get(entry.operation) ?? 0) + 1)
      const due = waiting.filter(({ operation, count }) => isThere(operation, count))
      waiting = waiting.filter((one) => !due.includes(one))
      for (const { resolve } of due) resolve()
    },
    entries: (filter = {}) =>
      entries.filter(
        ({ service, operation, method }) =>
          (filter.service ?? service) === service &&
          (filter.operation ?? operation) === operation &&
          (filter.method ?? method) === method,
      ),
    clear: () => {
      entries = []
      countByOperation.clear()
    },
    arrived: (operation, count = 1) =>
      isThere(operation, count)
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ operation, count, resolve })),
  }
}

const withoutSecrets = (body: Record<string, unknown>) =>
  Object.fromEntries(
    Object.entries(body).filter(([name]) => name !== 'client_secret' && name !== 'client_assertion'),
  )
