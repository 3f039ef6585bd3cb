import { fail } from '../../errors.ts'
import type { View, ViewEntry } from '../barrier/view.ts'
import type { IdentityStore, LoginAlias, LoginIdentity } from '../identity/identity-store.ts'
import { writeAttempts } from '../stored-record.ts'
import type { Minted } from './token-store.ts'
import { writeMinted } from './write-minted.ts'

/**
 * Runs `issue` with the entity of an alias, found or drawn up. A known one is used at once; those that have to be written come one after the other, and
 * `issue` runs again when it gives undefined because someone else (another replica) changed the entity in the meantime.
 */
export async function withLoginIdentity<T extends object>(
  identity: IdentityStore,
  alias: LoginAlias,
  issue: (login: LoginIdentity) => Promise<T | undefined>,
): Promise<T> {
  const known = await identity.forLogin(alias)
  const issued = known.entries.length === 0 ? await issue(known) : await identity.inTurn(alias, () => issueInTurn(identity, alias, issue))
  if (issued === undefined) throw new Error('a write that expects nothing was refused')
  return issued
}

async function issueInTurn<T extends object>(
  identity: IdentityStore,
  alias: LoginAlias,
  issue: (login: LoginIdentity) => Promise<T | undefined>,
): Promise<T | undefined> {
  const attempt = async (): Promise<{ issued: T | undefined } | undefined> => {
    const login = await identity.forLogin(alias)
    const issued = await issue(login)
    return issued !== undefined || login.entries.length === 0 ? { issued } : undefined
  }
  const done = (await attempt()) ?? (await identity.inLine(() => again(attempt)))
  return done.issued
}

async function again<T extends object>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let made = 1; made < writeAttempts; made += 1) {
    const done = await attempt()
    if (done !== undefined) return done
  }
  throw fail('unavailable', 'too many logins of one name at a time')
}

/** A new token, the entity it belongs to and `more`, in one write. False when the entity is no longer what it was, or something is there already. */
export async function writeWithIdentity(view: View, minted: Minted, login: LoginIdentity, more: readonly ViewEntry[] = []): Promise<boolean> {
  const others = login.entries.length === 0 ? more : [...login.entries, ...login.counts(), ...more]
  let written = false
  try {
    written = await writeMinted(view, minted, others)
  } finally {
    if (!written) login.overtaken()
  }
  if (written) login.written()
  return written
}
