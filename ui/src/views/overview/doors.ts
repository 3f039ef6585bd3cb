import type { Mounts } from '../../api/server.ts'
import type { Reaches } from '../../shell/acl.ts'
import type { Grant } from '../../shell/grants.ts'
import { pathsOfTypes } from '../../shell/mounts.ts'

/** A place of the UI that the token may open. */
export type Door = { readonly view: string; readonly label: string; readonly parts: readonly string[] }

/** A mount, and the places in it that policies name. */
export type OpenMount = Door & { readonly below: readonly Door[] }

/** The mounts of secrets and cloud credentials that the token reaches. */
export function openMounts(
  { secret }: Mounts,
  grants: readonly Grant[],
  reaches: Reaches,
): readonly OpenMount[] {
  const allowed = grants.filter(({ capabilities }) => !capabilities.includes('deny'))
  const isV2 = (path: string) => secret[`${path}/`]?.options?.['version'] === '2'
  const secrets = pathsOfTypes(secret, ['kv']).map((path) => ({
    view: 'secrets',
    label: `${path}/`,
    parts: [`${path}/`],
    below: distinct(allowed.flatMap((grant) => secretDoor(`${path}/`, isV2(path), grant))),
  }))
  const cloud = pathsOfTypes(secret, ['cloud', 'azure']).map((path) => ({
    view: 'cloud',
    label: `${path}/`,
    parts: [path],
    below: distinct(allowed.flatMap((grant) => roleDoor(path, grant))),
  }))
  return [...secrets, ...cloud].filter(({ label }) => reaches(label))
}

/** `team/data/shop/*` is the folder `shop/`, `team/data/shop/db` the secret. */
function secretDoor(mount: string, isV2: boolean, { path, isPrefix }: Grant): readonly Door[] {
  const below = path.startsWith(mount) ? path.slice(mount.length) : ''
  const inside = isV2 ? (/^(?:data|metadata)\/(.*)$/.exec(below)?.[1] ?? '') : below
  const [fixed = ''] = inside.split(/(?:^|(?<=\/))\+/)
  const isWhole = fixed === inside && !isPrefix
  const place = isWhole ? fixed : fixed.slice(0, fixed.lastIndexOf('/') + 1)
  return place === '' ? [] : [{ view: 'secrets', label: place, parts: [mount, place] }]
}

function roleDoor(mount: string, { path, isPrefix }: Grant): readonly Door[] {
  const [, kind, name] = path.startsWith(`${mount}/`)
    ? (/^(creds|static-creds)\/([^/+]+)$/.exec(path.slice(mount.length + 1)) ?? [])
    : []
  if (name === undefined || isPrefix) return []
  return [{ view: 'cloud', label: name, parts: [mount, kind === 'creds' ? 'roles' : 'static', name] }]
}

const distinct = (doors: readonly Door[]): readonly Door[] => [
  ...new Map(doors.map((door) => [door.parts.join('\n'), door])).values(),
]
