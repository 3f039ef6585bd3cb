import type { Mount } from '../../../core/mounts/mount.ts'
import { withSlash } from '../../../core/mounts/mount-path.ts'
import { rootNamespace } from '../../../core/namespaces/namespace.ts'
import type { Core } from '../../../core/open/core.ts'
import type { QuotaPlace } from '../../../core/quotas/quota.ts'
import { refuse } from '../../../errors.ts'
import { quoted } from '../../../lib/text/go-text.ts'

export type PlaceParts = Pick<Core, 'namespaces' | 'mounts' | 'mountTypes' | 'fullPathOf'>

const mostName = 256
export const mostPath = 2048

export function checkName(name: string): void {
  if (name.length > mostName) throw refuse('invalid', `name is longer than ${mostName} characters`)
}

type PlaceInput = { readonly path: string; readonly role: string; readonly inheritable?: boolean | undefined }

/** What a new rule is about. Throws `invalid` for what does not exist or cannot have a rule. */
export function placeOf(
  name: string,
  { path, role, inheritable }: PlaceInput,
  parts: PlaceParts,
): QuotaPlace {
  const place = resolved(path, parts)
  if (role !== '') checkRole(place, parts)
  return {
    name,
    role,
    suffix: place.suffix,
    namespace: place.mount === undefined ? place.namespace : '',
    mount: place.mount?.uuid ?? '',
    inheritable: inheritableOf(inheritable, place),
  }
}

/** The full path that a rule limits; undefined if its mount or namespace is gone. */
export function pathOf(
  quota: QuotaPlace,
  { mounts, namespaces, fullPathOf }: PlaceParts,
): string | undefined {
  if (quota.mount === '') return namespaces.byId(quota.namespace)?.path
  const mount = mounts.table.byUuid(quota.mount)
  return mount && fullPathOf(mount) + quota.suffix
}

export const withoutLeadingSlash = (path: string): string => path.replace(/^\/+/, '')

type Place = { readonly namespace: string; readonly mount: Mount | undefined; readonly suffix: string }

function resolved(sent: string, { namespaces, mounts }: PlaceParts): Place {
  if (sent.length > mostPath) throw refuse('invalid', `path is longer than ${mostPath} characters`)
  const full = withoutLeadingSlash(sent.trim())
  if (full === '') return { namespace: rootNamespace.id, mount: undefined, suffix: '' }
  const slashed = withSlash(full)
  const { namespace, taken } = namespaces.resolve(undefined, slashed) ?? {
    namespace: rootNamespace,
    taken: 0,
  }
  const path = slashed.slice(taken)
  if (path === '' && namespaces.isLive(namespace.id))
    return { namespace: namespace.id, mount: undefined, suffix: '' }
  const found = mounts.table.resolve(namespace.id, path)
  if (found === undefined || found.mount.tainted || !namespaces.isLive(namespace.id))
    throw refuse('invalid', `invalid mount path ${quoted(path)}`)
  return { namespace: namespace.id, mount: found.mount, suffix: found.below.replace(/\/$/, '') }
}

function checkRole({ mount, suffix }: Place, { mountTypes }: PlaceParts): void {
  if (suffix !== '')
    throw refuse(
      'invalid',
      'Quotas cannot contain both a path suffix and a role. If a role is provided, path must be a valid mount with a concept of roles',
    )
  const path = quoted(mount?.path ?? '')
  if (mount?.table !== 'auth')
    throw refuse(
      'invalid',
      `Mount path ${path} is not a valid auth method and therefore unsuitable for use with role-based quotas`,
    )
  if (!mountTypes.hasLoginRoles(mount.plugin))
    throw refuse('invalid', `Mount path ${path} does not support use with role-based quotas`)
}

/** A rule on the root namespace without a mount limits every request. */
function inheritableOf(sent: boolean | undefined, { namespace, mount }: Place): boolean {
  const isGlobal = mount === undefined && namespace === rootNamespace.id
  if (sent === true && mount !== undefined)
    throw refuse('invalid', 'only namespace quotas can be configured as inheritable')
  if (sent === false && isGlobal) throw refuse('invalid', 'all global quotas must be inheritable')
  return sent ?? isGlobal
}
