import type { ComponentType } from 'react'
import { lintFindings, loginConfig, loginFailures, loginRoles, loginStatus } from '../../api/logins.ts'
import type { ApiRequest } from '../../api/request.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { Choices } from '../../shell/choices.tsx'
import { pathsOfTypes, useMounts } from '../../shell/mounts.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { listAppRoles } from './app-role-calls.ts'
import { AppRoles } from './app-roles.tsx'
import { CelRoles } from './cel-roles.tsx'
import { listCelRoles } from './editor/calls.ts'
import { Explain } from './explain.tsx'
import { Failures } from './failures.tsx'
import { FindRefusal } from './find-refusal.tsx'
import { podStatus } from './pod-calls.ts'
import { PodRoles } from './pod-roles.tsx'
import { PodStatus } from './pod-status.tsx'
import { JwtRoles } from './roles.tsx'
import { Status } from './status.tsx'
import { listUsers } from './user-calls.ts'
import { Users } from './users.tsx'
import './logins.css'

const text = strings.logins

type Tab = {
  readonly name: keyof typeof text.tabs
  /** Below the mount, with the capability that the tab needs there. */
  readonly path: string
  readonly capability: string
  readonly Page: ComponentType<{ readonly mount: string }>
  /** For "copy as". */
  requests(mount: string): readonly ApiRequest[]
}

const ofJwt = (mount: string) => ({ params: { jwt_mount_path: mount } })

const failuresTab: Tab = {
  name: 'failures',
  path: 'failures',
  capability: 'read',
  Page: Failures,
  requests: (mount) => [loginFailures.request(ofJwt(mount))],
}

const refusalTabs: readonly Tab[] = [
  failuresTab,
  { name: 'explain', path: 'explain', capability: 'update', Page: Explain, requests: () => [] },
]

const rolesTab: Omit<Tab, 'Page'> = {
  name: 'roles',
  path: 'role',
  capability: 'list',
  requests: (mount) => [loginRoles.request(ofJwt(mount)), lintFindings.request(ofJwt(mount))],
}

const jwtTabs: readonly Tab[] = [
  ...refusalTabs,
  { ...rolesTab, Page: JwtRoles },
  {
    name: 'cel',
    path: 'cel/role',
    capability: 'list',
    Page: CelRoles,
    requests: (mount) => [listCelRoles.request(ofJwt(mount))],
  },
  {
    name: 'status',
    path: 'status',
    capability: 'read',
    Page: Status,
    requests: (mount) => [loginStatus.request(ofJwt(mount)), loginConfig.request(ofJwt(mount))],
  },
]

const podTabs: readonly Tab[] = [
  ...refusalTabs,
  { ...rolesTab, Page: PodRoles },
  {
    name: 'status',
    path: 'status',
    capability: 'read',
    Page: PodStatus,
    requests: (mount) => [
      podStatus.request({ params: { kubernetes_mount_path: mount } }),
      loginConfig.request(ofJwt(mount)),
    ],
  },
]

/** What there is to see of the mounts of each type. */
const tabsOf: Readonly<Record<string, readonly Tab[]>> = {
  jwt: jwtTabs,
  oidc: jwtTabs,
  kubernetes: podTabs,
  userpass: [
    {
      name: 'users',
      path: 'users',
      capability: 'list',
      Page: Users,
      requests: (mount) => [listUsers.request({ params: { userpass_mount_path: mount } })],
    },
    failuresTab,
  ],
  approle: [
    {
      name: 'roles',
      path: 'role',
      capability: 'list',
      Page: AppRoles,
      requests: (mount) => [listAppRoles.request({ params: { approle_mount_path: mount } })],
    },
    failuresTab,
  ],
}

const types = Object.keys(tabsOf)

/** What operators see of logins. */
export function View() {
  const { mounts, isKnown } = useMounts()
  const { parts } = usePlace()
  const paths = pathsOfTypes(mounts.auth, types)
  const mount = parts[0] ?? paths[0]
  if (mount === undefined)
    return isKnown ? (
      <div className="view">
        <ViewHeader title={strings.views['logins'] ?? ''} requests={[]} />
        <FindRefusal mounts={paths} types={types} />
        <EmptyState title={text.none}>{text.noneNext}</EmptyState>
      </div>
    ) : null
  if (!isKnown) return null
  const tabs = tabsOf[mounts.auth[`${mount}/`]?.type ?? ''] ?? []
  return <Mount key={mount} mount={mount} paths={paths} tabs={tabs} tab={parts[1]} />
}

type Props = {
  readonly mount: string
  readonly paths: readonly string[]
  readonly tabs: readonly Tab[]
  readonly tab: string | undefined
}

function Mount({ mount, paths, tabs, tab }: Props) {
  const newMount = 'sys/auth/x'
  const { can, isKnown } = useCapabilities([newMount, ...tabs.map(({ path }) => `auth/${mount}/${path}`)])
  const allowed = tabs.filter(({ path, capability }) => can(`auth/${mount}/${path}`, capability))
  const open = allowed.find(({ name }) => name === tab) ?? allowed[0]
  return (
    <div className="view">
      <ViewHeader title={strings.views['logins'] ?? ''} requests={open?.requests(mount) ?? []}>
        {can(newMount, 'create') && (
          <PlaceLink view="system" parts={['logins']} className="button">
            {text.newMount}
          </PlaceLink>
        )}
      </ViewHeader>
      <FindRefusal mounts={paths} types={types} />
      {paths.length > 1 && (
        <Choices
          view="logins"
          of="mounts"
          label={text.mounts}
          choices={paths.map((path) => ({ name: path, label: `${path}/`, parts: [path] }))}
          open={mount}
        />
      )}
      <Choices
        view="logins"
        of="aspects"
        label={text.aspects}
        choices={allowed.map(({ name }) => ({ name, label: text.tabs[name], parts: [mount, name] }))}
        open={open?.name}
      />
      {open !== undefined ? (
        <open.Page mount={mount} />
      ) : (
        isKnown && <EmptyState title={strings.shell.notAllowed} />
      )}
    </div>
  )
}
