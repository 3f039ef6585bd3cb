import { everyValue } from '../../../core/audit/hashing.ts'
import type { Mount } from '../../../core/mounts/mount.ts'
import { type Resource, resource } from '../../../http/resource/resource.ts'
import type { KvMounts } from '../store/kv-mounts.ts'
import { missing } from './missing.ts'

const commands = {
  read: 'get',
  write: 'put',
  patch: 'patch',
  delete: 'delete',
  list: 'list',
  scan: 'scan',
} as const

const invalidPath = (command: string) =>
  `Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints to use. If using the Vault CLI, use 'vault kv ${command}' for this operation.`

const rootPath = 'Non-listing operations on the root of a K/V v2 mount are not supported.'

/**
 * Paths that are none of version 2. Clients know them by their 404, which has an envelope and a warning.
 * docs/contract/kv.md#paths
 */
export function otherPaths(kvMounts: KvMounts): Resource[] {
  const refused = (text: string) => ({
    summary: 'Refused',
    anyFields: true,
    handle: async ({ mount }: { mount: Mount }) => {
      await kvMounts.keysOf(mount)
      return missing(null, [text])
    },
  })
  const { list, scan, ...others } = commands
  const verbs = <Verb extends string>(named: Record<Verb, string>, textOf: (command: string) => string) =>
    // it has exactly the names of `named`
    Object.fromEntries(
      Object.entries<string>(named).map(([verb, command]) => [verb, refused(textOf(command))]),
    ) as Record<Verb, ReturnType<typeof refused>>

  return [
    ...['data', 'metadata', 'delete', 'undelete', 'destroy'].map((name) =>
      resource(`/${name}`, {
        help: 'Secrets are below this path.',
        undocumented: true,
        secretValues: everyValue,
        ...verbs(others, () => rootPath),
      }),
    ),
    resource('/*', {
      help: 'Not a path of this version: secrets are below data/.',
      undocumented: true,
      secretValues: everyValue,
      ...verbs(commands, invalidPath),
    }),
  ]
}
