import type { View, ViewEntry } from '../../barrier/view.ts'
import type { IdentityStore, LoginAlias, LoginIdentity } from '../../identity/entities/identity-store.ts'
import type { Minted } from '../store/token-store.ts'
import { writeMinted } from '../store/write-minted.ts'

/**
 * Calls `issue` with the entity of an alias, existing or new. Logins that have to write the entity run one
 * after the other; if `issue` returns undefined because another writer (such as another replica) changed the
 * entity, it is called again. Throws `unavailable` after too many attempts.
 */
export async function withLoginIdentity<T extends object>(
  identity: IdentityStore,
  alias: LoginAlias,
  issue: (login: LoginIdentity) => Promise<T | undefined>,
): Promise<T> {
  const known = await identity.forLogin(alias)
  if (known.entries.length === 0) return issuedOnly(await issue(known))
  // what was read before an earlier login of the name has ended is outdated
  const first = identity.isFree(alias) ? known : undefined
  const issued = await identity.runExclusive(alias, () => issueExclusively(identity, alias, issue, first))
  return issuedOnly(issued)
}

/** What was issued; a write that expects nothing is never refused. */
export function issuedOnly<T extends object>(issued: T | undefined): T {
  if (issued === undefined) throw new Error('a write that expects nothing was refused')
  return issued
}

async function issueExclusively<T extends object>(
  identity: IdentityStore,
  alias: LoginAlias,
  issue: (login: LoginIdentity) => Promise<T | undefined>,
  first: LoginIdentity | undefined,
): Promise<T | undefined> {
  const attempt = async (known?: LoginIdentity): Promise<{ issued: T | undefined } | undefined> => {
    const login = known ?? (await identity.forLogin(alias))
    const issued = await issue(login)
    return issued !== undefined || login.entries.length === 0 ? { issued } : undefined
  }
  const done =
    (await attempt(first)) ??
    (await identity.runAfterConflict(async (_, overtaken) => {
      const again = await attempt()
      if (again === undefined) throw overtaken
      return again
    }))
  return done.issued
}

/** Writes a new token, its entity if it has one, and `more` at once. False if an expectation of the entries did not hold. */
export async function writeWithIdentity(
  view: View,
  minted: Minted,
  login: LoginIdentity | undefined,
  more: readonly ViewEntry[] = [],
): Promise<boolean> {
  const others =
    login === undefined || login.entries.length === 0 ? more : [...login.entries, ...login.counts(), ...more]
  let written = false
  try {
    written = await writeMinted(view, minted, others)
  } finally {
    if (!written) login?.invalidate()
  }
  if (written) login?.written()
  return written
}
