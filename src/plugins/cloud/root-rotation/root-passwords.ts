import type { ConfigRecord } from '../config/config-record.ts'
import type { ReadyUpstream } from '../mount-state.ts'
import { anyRootPasswordPrefix, rootPasswordPrefix } from '../upstream/directory/object-names.ts'
import type { Application, PasswordCredential, UpstreamCall } from '../upstream/index.ts'

/** A password, and the service principal that holds it; undefined if the application itself does. */
export type HeldPassword = PasswordCredential & { readonly principalId: string | undefined }

export const holderName = (principalId: string | undefined): 'application' | 'service principal' =>
  principalId === undefined ? 'application' : 'service principal'

const hintLength = 3

/** The part of a secret that the directory shows as the `hint` of the password. */
export const hintOf = (secret: string): string => secret.slice(0, hintLength)

/** The passwords of the root application and of its service principal. */
export async function rootPasswords(
  { passwordCredentials }: Application,
  { directory, settings }: Pick<ReadyUpstream, 'directory' | 'settings'>,
  call: UpstreamCall,
): Promise<HeldPassword[]> {
  const principal = await directory.findServicePrincipal(settings.clientId, call)
  return [
    ...passwordCredentials.map((password) => ({ ...password, principalId: undefined })),
    ...(principal?.passwordCredentials ?? []).map((password) => ({
      ...password,
      principalId: principal?.id,
    })),
  ]
}

/**
 * What a promotion replaces. `own`: the engine created them for this mount. `typed`: an operator entered it, on the
 * application or its service principal, if its hint identifies it; otherwise `unknown` lists the candidates.
 * docs/contract/cloud.md#former-secrets
 */
export function supersededPasswords<Held extends HeldPassword>(
  passwords: readonly Held[],
  { pending, client_secret, client_secret_key_id }: ConfigRecord,
  accessor: string,
): { own: Held[]; typed: Held | undefined; unknown: Held[] } {
  const isOwn = ({ keyId, displayName }: HeldPassword) =>
    keyId === client_secret_key_id || displayName?.startsWith(rootPasswordPrefix(accessor)) === true
  const others = passwords.filter(({ keyId }) => keyId !== pending?.key_id)
  const own = others.filter(isOwn)
  if (client_secret_key_id !== '') return { own, typed: undefined, unknown: [] }
  const typedIn = others.filter(
    (password) => !isOwn(password) && password.displayName?.startsWith(anyRootPasswordPrefix) !== true,
  )
  const hinted = typedIn.filter(({ hint }) => hint === hintOf(client_secret))
  const [typed, another] = hinted
  if (typed !== undefined && another === undefined) return { own, typed, unknown: [] }
  return { own, typed: undefined, unknown: hinted.length > 0 ? hinted : typedIn }
}
