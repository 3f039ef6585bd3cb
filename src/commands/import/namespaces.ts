import { z } from 'zod'
import { textMap } from '../../lib/data/text-map.ts'
import { isName, notAName } from './names.ts'
import { ifRefused, type RemoteServer } from './remote-server.ts'
import { importOne, likeness, noteOf, type Scope } from './scope.ts'

const kind = 'namespace'
const shape = z.object({ custom_metadata: textMap.nullish() })

/** The namespaces right below one; each name ends in `/`. None on a server without namespaces. */
export const childrenOf = (server: RemoteServer): Promise<readonly string[]> =>
  server
    .list('sys/namespaces')
    .catch(ifRefused<readonly string[]>([], (status) => status === 400 || status === 405))

const pathOf = (name: string) => `sys/namespaces/${name.replace(/\/$/, '')}`

export function isChild({ namespace, report }: Scope, name: string): boolean {
  const fits = isName(name.replace(/\/$/, ''))
  if (!fits) report.failed({ kind, namespace, path: pathOf(name) }, notAName)
  return fits
}

/** Creates a child namespace. Returns whether the target has it now, or would have it. */
export async function importNamespace(scope: Scope, name: string): Promise<boolean> {
  const { from, to, report } = scope
  const path = pathOf(name)
  const before = report.counts.failed
  await importOne(scope, {
    kind,
    path,
    exists: async () => {
      const [theirs, ours] = await Promise.all([from.read(path), to.read(path)])
      return likeness(shape.safeParse(theirs).data ?? {}, ours)
    },
    write: async () => {
      const { data } = shape.safeParse(await from.read(path))
      return noteOf((await to.write(path, { custom_metadata: data?.custom_metadata ?? {} })).warnings)
    },
  })
  return report.counts.failed === before
}

/** Reports a namespace that the import does not create and the target does not have. */
export async function hasNamespace({ namespace, to, report }: Scope, name: string): Promise<boolean> {
  const path = pathOf(name)
  if ((await to.read(path)) !== undefined) return true
  report.failed({ kind, namespace, path }, 'the target has no such namespace')
  return false
}
