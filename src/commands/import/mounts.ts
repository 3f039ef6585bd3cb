import { z } from 'zod'
import { type Body, bodyShape, givenFields, type RemoteServer } from './remote-server.ts'
import { importOne, likeness, noteOf, type Scope } from './scope.ts'

const mountTable = z.record(
  z.string(),
  z.looseObject({
    type: z.string(),
    accessor: z.string().default(''),
    description: z.string().default(''),
    config: z.record(z.string(), z.unknown()).nullish(),
    options: bodyShape.nullish(),
    local: z.boolean().default(false),
  }),
)

export type MountEntry = z.infer<typeof mountTable>[string]
/** By path, which ends in `/`. */
export type MountTable = ReadonlyMap<string, MountEntry>

/** The mounts of a namespace; none if it does not exist. */
export async function mountsAt(server: RemoteServer, kind: 'auth' | 'mounts'): Promise<MountTable> {
  const { data } = mountTable.safeParse(await server.read(`sys/${kind}`))
  return new Map(Object.entries(data ?? {}))
}

/** What a mount is created with, of what its entry shows. */
const configFields = [
  ...['default_lease_ttl', 'max_lease_ttl', 'listing_visibility', 'token_type'],
  ...['audit_non_hmac_request_keys', 'audit_non_hmac_response_keys'],
  ...['passthrough_request_headers', 'allowed_response_headers'],
]

function configOf({ config }: MountEntry): Body {
  const given = Object.entries(givenFields(config ?? {})).filter(
    ([name, value]) => configFields.includes(name) && value !== 0 && value !== 'default-service',
  )
  return Object.fromEntries(given)
}

const mountRequest = (entry: MountEntry): Body => {
  const { type, description, options, local } = entry
  return { type, description, config: configOf(entry), options: options ?? null, local }
}

const tuneRequest = (entry: MountEntry): Body => ({ description: entry.description, ...configOf(entry) })

export type ImportedMount = {
  readonly kind: 'auth_mount' | 'secrets_mount'
  /** As the report calls it. */
  readonly path: string
  /** Of its settings, without a trailing slash. */
  readonly settings: string
  readonly theirs: MountEntry
  readonly ours: MountEntry | undefined
}

/** Imports a mount with its settings. Resolves with whether the target has it now, or would have it. */
export const importMount = (scope: Scope, { kind, path, settings, theirs, ours }: ImportedMount) =>
  importOne(scope, {
    kind,
    path,
    exists: async () =>
      likeness(tuneRequest(theirs), ours && { description: ours.description, ...ours.config }),
    write: async () => noteOf((await scope.to.write(settings, mountRequest(theirs))).warnings),
    update: async () => noteOf((await scope.to.write(`${settings}/tune`, tuneRequest(theirs))).warnings),
  })

/** Maps the accessors of one server's login methods to those of another at the same paths. */
export async function accessorMap(
  from: RemoteServer,
  to: RemoteServer,
): Promise<ReadonlyMap<string, string>> {
  const [theirs, ours] = await Promise.all([mountsAt(from, 'auth'), mountsAt(to, 'auth')])
  return new Map(
    [...theirs].flatMap(([path, { accessor }]) => {
      const same = ours.get(path)
      return same === undefined ? [] : [[accessor, same.accessor] as const]
    }),
  )
}
