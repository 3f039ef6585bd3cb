import type { ComponentType } from 'react'
import type { Mounts } from '../api/server.ts'
import { pathsOfTypes } from '../shell/mounts.ts'

/** A view of the UI. Its code is loaded when it is opened. */
export type View = {
  /** The first part of its URL, and of its heading in strings.ts. */
  readonly name: string
  /**
   * The calls of which the token must be allowed one, beyond what the `default` policy grants; the view is absent
   * otherwise. Absent: everyone sees it.
   */
  probes?(mounts: Mounts): readonly Probe[]
  /** Paths below which the token must be allowed something; the view is absent otherwise. */
  below?(mounts: Mounts): readonly Below[]
  load(): Promise<{ readonly View: ComponentType }>
}

type Probe = { readonly path: string; readonly capability: string }

/** A path that ends in a slash, and the capability that counts; any, if there is none. */
type Below = { readonly path: string; readonly capability?: string }

const mountsOf =
  (...types: readonly string[]) =>
  ({ secret }: Mounts): readonly Below[] =>
    pathsOfTypes(secret, types).map((path) => ({ path: `${path}/` }))

/** The `default` policy allows the other tools to everyone. */
const toolProbes: readonly Probe[] = [{ path: 'sys/tools/random', capability: 'update' }]

/** Every view, in the order of the navigation. */
export const views: readonly View[] = [
  { name: 'home', load: () => import('./overview/overview.tsx') },
  { name: 'secrets', below: mountsOf('kv'), load: () => import('./secrets/secrets.tsx') },
  { name: 'cloud', below: mountsOf('cloud', 'azure'), load: () => import('./cloud/cloud.tsx') },
  {
    name: 'logins',
    probes: ({ auth }) => [
      ...pathsOfTypes(auth, ['jwt', 'oidc', 'kubernetes']).flatMap((mount) => [
        { path: `auth/${mount}/failures`, capability: 'read' },
        { path: `auth/${mount}/explain`, capability: 'update' },
        { path: `auth/${mount}/role`, capability: 'list' },
        { path: `auth/${mount}/status`, capability: 'read' },
      ]),
      ...pathsOfTypes(auth, ['userpass']).flatMap((mount) => [
        { path: `auth/${mount}/users`, capability: 'list' },
        { path: `auth/${mount}/failures`, capability: 'read' },
      ]),
      ...pathsOfTypes(auth, ['approle']).flatMap((mount) => [
        { path: `auth/${mount}/role`, capability: 'list' },
        { path: `auth/${mount}/failures`, capability: 'read' },
      ]),
    ],
    load: () => import('./logins/logins.tsx'),
  },
  {
    name: 'messages',
    probes: () => [
      { path: 'sys/config/ui/custom-messages', capability: 'list' },
      { path: 'sys/config/ui/custom-messages', capability: 'create' },
    ],
    load: () => import('./messages/messages.tsx'),
  },
  {
    name: 'access',
    probes: () => [
      { path: 'sys/policies/acl', capability: 'list' },
      { path: 'auth/token/create', capability: 'update' },
      { path: 'auth/token/lookup-accessor', capability: 'update' },
      { path: 'identity/entity/id', capability: 'list' },
      { path: 'identity/group/id', capability: 'list' },
    ],
    load: () => import('./access/access.tsx'),
  },
  {
    name: 'leases',
    // `list` alone is refused
    probes: () => [{ path: 'sys/leases/lookup/', capability: 'sudo' }],
    below: () => [{ path: 'sys/leases/lookup/', capability: 'sudo' }],
    load: () => import('./leases/leases.tsx'),
  },
  {
    name: 'system',
    probes: () => [
      { path: 'sys/mounts', capability: 'read' },
      { path: 'sys/auth', capability: 'read' },
      { path: 'sys/namespaces', capability: 'list' },
      { path: 'sys/key-status', capability: 'read' },
      { path: 'sys/audit', capability: 'sudo' },
      { path: 'sys/quotas/rate-limit', capability: 'list' },
      { path: 'sys/history/deleted', capability: 'read' },
    ],
    load: () => import('./system/system.tsx'),
  },
  { name: 'tools', probes: () => toolProbes, load: () => import('./tools/tools.tsx') },
]
