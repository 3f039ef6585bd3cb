import { mountsAt } from './mounts.ts'
import { type Body, ifMissing, RefusedRequest, type RemoteServer } from './remote-server.ts'
import type { Scope } from './scope.ts'

type Left = {
  readonly kind: string
  readonly instead: string
  /** Its paths on the source. Absent: nothing shows where it is. */
  readonly found?: (from: RemoteServer) => Promise<readonly string[]>
  /** How many there are at one of the paths. */
  readonly count?: (from: RemoteServer, path: string) => Promise<number>
  /** Only the root namespace has it. */
  readonly isGlobal?: boolean
}

type LeftHere = Pick<Left, 'kind' | 'instead'> & {
  readonly found: readonly string[]
  readonly count?: (path: string) => Promise<number>
  /** Why nothing is known of them. */
  readonly refused?: string
}

/** The paths and fields of both servers are the same. */
const samePath = 'read it on the source, and write the same to the same path of the target'

const all: readonly Left[] = [
  {
    kind: 'quotas',
    instead: samePath,
    isGlobal: true,
    found: below('sys/quotas', 'rate-limit', 'lease-count'),
  },
  { kind: 'cors', instead: samePath, isGlobal: true, found: corsOf },
  { kind: 'audited_headers', instead: samePath, isGlobal: true, found: auditedHeaders },
  {
    kind: 'audit_devices',
    instead: 'enable one on the target (file, http or standard output) before clients come',
    isGlobal: true,
    found: auditDevices,
  },
  { kind: 'ui_headers', instead: samePath, isGlobal: true, found: below('sys/config/ui', 'headers') },
  { kind: 'identity_tokens', instead: `${samePath}; keys are new`, found: identityTokens },
  {
    kind: 'tokens',
    instead: 'clients log in again, or get a new token',
    found: tokensOf,
    count: (from, path) => countBelow(from, path),
  },
  { kind: 'leases', instead: 'clients request new credentials' },
  {
    kind: 'secret_ids',
    instead: 'import those that you know with --secret-ids, or create new ones',
    found: methods('approle'),
    count: secretIdsAt,
  },
  {
    kind: 'passwords',
    instead: 'import their hashes with --passwords, or an operator sets new ones',
    found: methods('userpass'),
    count: (from, path) => countBelow(from, `${path}users`),
  },
  { kind: 'history', instead: 'it stays on the source: GET sys/history' },
]

/** The objects of this namespace that no import carries. */
export const leftOutOf = (from: RemoteServer, namespace: string): Promise<readonly LeftHere[]> =>
  Promise.all(
    all.map(async ({ kind, instead, found, count, isGlobal }) => {
      const isElsewhere = isGlobal && namespace !== ''
      try {
        const paths = isElsewhere ? [] : await (found?.(from) ?? [])
        return { kind, instead, found: paths, ...(count && { count: (path: string) => count(from, path) }) }
      } catch (error) {
        if (!(error instanceof RefusedRequest)) throw error
        return { kind, instead, found: [], refused: error.message }
      }
    }),
  )

/** Notes for the report what no import carries. */
export async function noteLeftOut({ from, namespace, report, passwords }: Scope): Promise<void> {
  const left = await leftOutOf(from, namespace)
  for (const { kind, instead, found } of left.filter((one) => one.kind !== 'passwords' || !passwords))
    report.leftOut(
      { kind, instead },
      found.map((path) => namespace + path),
    )
}

const countBelow = async (from: RemoteServer, path: string) => (await listIfThere(from, path)).length

/** The path where they are listed, for those who may. */
async function tokensOf(from: RemoteServer): Promise<string[]> {
  const path = 'auth/token/accessors'
  return (await countBelow(from, path)) === 0 ? [] : [path]
}

async function secretIdsAt(from: RemoteServer, mount: string): Promise<number> {
  let count = 0
  for (const role of await listIfThere(from, `${mount}role`))
    count += await countBelow(from, `${mount}role/${role}/secret-id`)
  return count
}

function below(at: string, ...lists: string[]) {
  return async (from: RemoteServer): Promise<string[]> => {
    const found: string[] = []
    for (const list of lists)
      for (const name of await listIfThere(from, `${at}/${list}`)) found.push(`${at}/${list}/${name}`)
    return found
  }
}

/** Each server has these from its beginning. */
const builtIn: ReadonlySet<string> = new Set(
  ['key/default', 'assignment/allow_all', 'provider/default'].map((path) => `identity/oidc/${path}`),
)

async function identityTokens(from: RemoteServer): Promise<string[]> {
  const lists = ['key', 'role', 'client', 'scope', 'assignment', 'provider']
  return (await below('identity/oidc', ...lists)(from)).filter((path) => !builtIn.has(path))
}

async function corsOf(from: RemoteServer): Promise<string[]> {
  const path = 'sys/config/cors'
  return (await readIfThere(from, path))?.['enabled'] === true ? [path] : []
}

async function auditedHeaders(from: RemoteServer): Promise<string[]> {
  const path = 'sys/config/auditing/request-headers'
  const { headers } = (await readIfThere(from, path)) ?? {}
  return Object.keys(headers ?? {}).map((name) => `${path}/${name}`)
}

async function auditDevices(from: RemoteServer): Promise<string[]> {
  return Object.keys((await readIfThere(from, 'sys/audit')) ?? {}).map((name) => `sys/audit/${name}`)
}

function methods(type: string) {
  return async (from: RemoteServer): Promise<string[]> => {
    const mounts = [...(await mountsAt(from, 'auth').catch(ifMissing(new Map())))]
    return mounts.flatMap(([path, entry]) => (entry.type === type ? [`auth/${path}`] : []))
  }
}

const listIfThere = (from: RemoteServer, path: string): Promise<readonly string[]> =>
  from.list(path).catch(ifMissing<readonly string[]>([]))

const readIfThere = (from: RemoteServer, path: string): Promise<Body | undefined> =>
  from.read(path).catch(ifMissing(undefined))
