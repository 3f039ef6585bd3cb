import { mountsAt } from './mounts.ts'
import { type Body, RefusedRequest, type RemoteServer } from './remote-server.ts'
import { listIfThere, type Scope } from './scope.ts'

type Left = {
  readonly kind: string
  readonly instead: string
  /** Its paths on the source. Absent: nothing shows where it is. */
  readonly found?: (from: RemoteServer) => Promise<readonly string[]>
  /** Only the root namespace has it. */
  readonly isGlobal?: boolean
}

const byHand = 'write it to the target by hand'

const all: readonly Left[] = [
  {
    kind: 'quotas',
    instead: byHand,
    isGlobal: true,
    found: below('sys/quotas', 'rate-limit', 'lease-count'),
  },
  { kind: 'cors', instead: byHand, isGlobal: true, found: corsOf },
  { kind: 'audited_headers', instead: byHand, isGlobal: true, found: auditedHeaders },
  { kind: 'audit_devices', instead: byHand, isGlobal: true, found: auditDevices },
  { kind: 'ui_headers', instead: byHand, isGlobal: true, found: below('sys/config/ui', 'headers') },
  {
    kind: 'identity_tokens',
    instead: `${byHand}; keys are new`,
    found: below('identity/oidc', 'key', 'role', 'client', 'scope', 'assignment', 'provider'),
  },
  { kind: 'tokens', instead: 'clients log in again, or get a new token' },
  { kind: 'leases', instead: 'clients request new credentials' },
  { kind: 'secret_ids', instead: 'create new ones', found: methods('approle') },
  { kind: 'passwords', instead: 'an operator sets new ones', found: methods('userpass') },
  { kind: 'history', instead: 'it stays on the source: GET sys/history' },
]

/** Notes for the report what the source has in this namespace, and no import carries. */
export async function noteLeftOut({ from, namespace, report }: Scope): Promise<void> {
  for (const { kind, instead, found, isGlobal } of all) {
    const paths = isGlobal && namespace !== '' ? [] : await (found?.(from) ?? [])
    report.leftOut(
      { kind, instead },
      paths.map((path) => namespace + path),
    )
  }
}

function below(at: string, ...lists: string[]) {
  return async (from: RemoteServer): Promise<string[]> => {
    const found: string[] = []
    for (const list of lists)
      for (const name of await listIfThere(from, `${at}/${list}`)) found.push(`${at}/${list}/${name}`)
    return found
  }
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
    const mounts = [...(await mountsAt(from, 'auth').catch(ifRefused(new Map())))]
    return mounts.flatMap(([path, entry]) => (entry.type === type ? [`auth/${path}`] : []))
  }
}

const readIfThere = (from: RemoteServer, path: string): Promise<Body | undefined> =>
  from.read(path).catch(ifRefused(undefined))

const ifRefused =
  <T>(otherwise: T) =>
  (error: unknown): T => {
    if (error instanceof RefusedRequest) return otherwise
    throw error
  }
