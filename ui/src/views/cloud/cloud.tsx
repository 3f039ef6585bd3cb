import { EmptyState } from '../../components/empty-state.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { Choices } from '../../shell/choices.tsx'
import { pathsOfTypes, useMounts } from '../../shell/mounts.ts'
import { usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import type { CloudMount } from './cloud-mount.ts'
import { Debris } from './debris.tsx'
import { LiveLeases } from './live-leases.tsx'
import { useNamedRoles } from './named-roles.ts'
import { Pools } from './pools.tsx'
import { Roles } from './roles.tsx'
import { RootCredential } from './root-credential.tsx'
import { StaticRoles } from './static-roles.tsx'
import { WhoIs } from './who-is.tsx'
import './cloud.css'

const text = strings.cloud

/** What operators see beside the roles: each with the calls of which the token must be allowed one. */
const aspects = [
  { name: 'static', calls: (mount: string) => [[`${mount}/static-roles`, 'list']], Page: StaticRoles },
  {
    name: 'config',
    calls: (mount: string) => [
      [`${mount}/config`, 'read'],
      [`${mount}/config/check`, 'read'],
    ],
    Page: RootCredential,
  },
  { name: 'leases', calls: (mount: string) => [[leasesOf(mount), 'sudo']], Page: LiveLeases },
  { name: 'pool', calls: (mount: string) => [[`${mount}/pool`, 'read']], Page: Pools },
  { name: 'debris', calls: (mount: string) => [[`${mount}/debris`, 'read']], Page: Debris },
  { name: 'whois', calls: (mount: string) => [[`${mount}/whois/id`, 'read']], Page: WhoIs },
] as const satisfies readonly {
  name: string
  calls: (mount: string) => readonly (readonly [path: string, capability: string])[]
  Page: unknown
}[]

/** A list of leases is for operators with `sudo` only. */
const leasesOf = (mount: string): string => `sys/leases/lookup/${mount}/creds/`

/** `#/cloud/<mount>/<aspect>/…` */
export function View() {
  const { mounts, isKnown } = useMounts()
  const { parts } = usePlace()
  const paths = pathsOfTypes(mounts.secret, ['cloud', 'azure'])
  const path = parts[0] ?? paths[0]
  if (path === undefined)
    return isKnown ? <EmptyState title={text.noMount}>{text.noMountNext}</EmptyState> : null
  const mount = { path, isAzure: mounts.secret[`${path}/`]?.type === 'azure' }
  return isKnown ? <Mount key={path} mount={mount} paths={paths} aspect={parts[1] ?? 'roles'} /> : null
}

type Props = { readonly mount: CloudMount; readonly paths: readonly string[]; readonly aspect: string }

function Mount({ mount, paths, aspect }: Props) {
  const { can } = useCapabilities(aspects.flatMap(({ calls }) => calls(mount.path).map(([path]) => path)))
  const passwords = useNamedRoles(`${mount.path}/static-creds/`) ?? []
  const allowed = aspects.filter(
    ({ name, calls }) =>
      calls(mount.path).some(([path, capability]) => can(path, capability)) ||
      (name === 'static' && passwords.length > 0),
  )
  const open = allowed.find(({ name }) => name === aspect)
  const named = (name: 'roles' | (typeof aspects)[number]['name']) => ({
    name,
    label: text.aspects[name],
    parts: [mount.path, name],
  })
  return (
    <div className="view">
      {paths.length > 1 && (
        <Choices
          view="cloud"
          of="mounts"
          label={text.mounts}
          choices={paths.map((path) => ({ name: path, label: `${path}/`, parts: [path] }))}
          open={mount.path}
        />
      )}
      {allowed.length > 0 && (
        <Choices
          view="cloud"
          of="aspects"
          label={text.ofThisMount}
          choices={[named('roles'), ...allowed.map(({ name }) => named(name))]}
          open={open?.name ?? 'roles'}
        />
      )}
      {open === undefined ? <Roles mount={mount} /> : <open.Page mount={mount.path} />}
    </div>
  )
}
