import { importAuthMounts } from './auth-mounts.ts'
import { importIdentity } from './identity.ts'
import { importKv } from './kv.ts'
import { importMessages } from './messages.ts'
import { childrenOf, hasNamespace, importNamespace, isChild } from './namespaces.ts'
import { noteLeftOut } from './never-carried.ts'
import { importPolicies } from './policies.ts'
import { reporting, type Scope } from './scope.ts'
import { importSecretIds, type KnownSecretId } from './secret-ids.ts'

/** What `--only` names. */
export const sections = ['policies', 'auth', 'identity', 'kv', 'messages', 'namespaces'] as const
export type Section = (typeof sections)[number]

export const isSection = (name: string): name is Section => sections.some((section) => section === name)

/** In this order: policies name login methods and groups. */
const steps: readonly [Section, (scope: Scope) => Promise<void>][] = [
  ['auth', importAuthMounts],
  ['identity', importIdentity],
  ['policies', importPolicies],
  ['kv', importKv],
]

/**
 * Imports the selected sections of all namespaces, each before those below it. Messages come last: they may stop the
 * writes of their namespace and of those below.
 */
export async function importServer(
  root: Omit<Scope, 'namespace' | 'methods'> & { readonly secretIds?: readonly KnownSecretId[] | undefined },
  only: ReadonlySet<Section>,
): Promise<void> {
  const namespaces = ['']
  const scopes: Scope[] = []
  for (let at = namespaces.shift(); at !== undefined; at = namespaces.shift()) {
    const scope = {
      ...root,
      namespace: at,
      methods: new Set<string>(),
      from: root.from.in(at),
      to: root.to.in(at),
    }
    scopes.push(scope)
    await noteLeftOut(scope)
    for (const [section, run] of steps) if (only.has(section)) await runStep(scope, section, run)
    await reporting(scope, 'namespace', 'sys/namespaces', async () => {
      for (const name of await childrenOf(scope.from)) {
        if (!isChild(scope, name)) continue
        const isThere = only.has('namespaces')
          ? await importNamespace(scope, name)
          : await hasNamespace(scope, name)
        if (isThere) namespaces.push(`${scope.namespace}${name.replace(/\/$/, '')}/`)
      }
    })
  }
  const { secretIds } = root
  if (secretIds !== undefined) await importSecretIds(root, secretIds)
  if (only.has('messages')) for (const scope of scopes) await runStep(scope, 'messages', importMessages)
}

async function runStep(scope: Scope, section: Section, run: (scope: Scope) => Promise<void>): Promise<void> {
  const { report, namespace, progress } = scope
  const before = report.counts
  await reporting(scope, section, section, () => run(scope))
  progress(`${namespace}${section}: ${report.summary(before)}`)
}
