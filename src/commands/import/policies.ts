import { z } from 'zod'
import { eachOf } from './each.ts'
import { accessorMap } from './mounts.ts'
import { isName, isPath, notAName } from './names.ts'
import { importOne, listIfThere, noteOf, reporting, type Scope } from './scope.ts'

const atOnce = 8

const kind = 'policy'
/** They belong to the server. */
export const builtInPolicies: ReadonlySet<string> = new Set(['root', 'response-wrapping', 'control-group'])
const policyShape = z.object({
  policy: z.string(),
  expiration: z.string().nullish(),
  cas_required: z.boolean().nullish(),
  version: z.number().nullish(),
  allow_slashes_in_identity_templates: z.boolean().nullish(),
  allow_wildcards_in_identity_templates: z.boolean().nullish(),
})
const nameShape = z.object({ name: z.string() })
const idShape = z.object({ id: z.string() })

/**
 * Imports ACL policies. Accessors of mounts and ids of groups in their templates become those of the target, so
 * mounts and groups must be imported before.
 */
export async function importPolicies(scope: Scope): Promise<void> {
  const { from, to, report, namespace } = scope
  const accessors = await accessorMap(from, to)
  await eachOf(await from.list('sys/policies/acl'), atOnce, async (name) => {
    const path = `sys/policies/acl/${name}`
    if (!isPath(name)) return report.failed({ kind, namespace, path }, notAName)
    if (!builtInPolicies.has(name))
      await reporting(scope, kind, path, () => importPolicy(scope, accessors, name, path))
  })
  for (const name of await listIfThere(from, 'sys/policies/password')) await importPasswordPolicy(scope, name)
  for (const other of ['rgp', 'egp'])
    for (const name of await listIfThere(from, `sys/policies/${other}`))
      report.failed({ kind, namespace, path: `sys/policies/${other}/${name}` }, 'this kind is not supported')
}

async function importPolicy(
  scope: Scope,
  accessors: ReadonlyMap<string, string>,
  name: string,
  path: string,
): Promise<void> {
  const { from, to } = scope
  const theirs = policyShape.safeParse(await from.read(path)).data
  if (theirs === undefined) return
  const { text, unknown } = await translated(theirs.policy, accessors, scope)
  const {
    expiration,
    cas_required,
    allow_slashes_in_identity_templates: slashes,
    allow_wildcards_in_identity_templates: wildcards,
  } = theirs
  let ours: z.infer<typeof policyShape> | undefined
  await importOne(scope, {
    kind,
    path,
    exists: async () => {
      ours = policyShape.safeParse(await to.read(path)).data
      // each namespace has it from its beginning
      if (ours === undefined) return name === 'default'
      const endOf = (end: string | null | undefined) => (end ? Date.parse(end) : undefined)
      return ours.policy === text && endOf(ours.expiration) === endOf(expiration) ? true : 'it differs'
    },
    write: async () => {
      const { warnings } = await to.write(path, {
        policy: text,
        ...(expiration && { expiration }),
        ...(cas_required === true && { cas_required }),
        ...(slashes === true && { allow_slashes_in_identity_templates: true }),
        ...(wildcards === true && { allow_wildcards_in_identity_templates: true }),
        ...((cas_required === true || ours?.cas_required === true) && { cas: ours?.version ?? 0 }),
      })
      return noteOf([...warnings, ...unknown.map((id) => `its template names ${id}, unknown to the target`)])
    },
  })
}

const passwordPolicyShape = z.object({ policy: z.string() })

async function importPasswordPolicy(scope: Scope, name: string): Promise<void> {
  const { from, to, report, namespace } = scope
  const path = `sys/policies/password/${name}`
  const item = { kind: 'password_policy', path }
  if (!isName(name)) return report.failed({ ...item, namespace }, notAName)
  await reporting(scope, item.kind, path, async () => {
    const theirs = passwordPolicyShape.safeParse(await from.read(path)).data
    if (theirs === undefined) return
    await importOne(scope, {
      ...item,
      exists: async () => {
        const ours = passwordPolicyShape.safeParse(await to.read(path)).data
        if (ours === undefined) return false
        return ours.policy === theirs.policy ? true : 'it differs'
      },
      write: async () => noteOf((await to.write(path, theirs)).warnings),
    })
  })
}

const accessorInTemplate = /(identity\.entity\.aliases\.|\{\{\s*login\.(?!metadata\.))([A-Za-z0-9_-]+)/g
/** In a namespace, an id ends in that of the namespace. */
const groupInTemplate = /(identity\.groups\.ids\.)([A-Za-z0-9_-]+(?:\.[A-Za-z0-9]{5,6}(?=\.))?)/g

async function translated(policy: string, accessors: ReadonlyMap<string, string>, { from, to }: Scope) {
  const unknown: string[] = []
  const groups = new Map<string, string>()
  for (const [, , id = ''] of policy.matchAll(groupInTemplate)) {
    const { data: theirs } = nameShape.safeParse(await from.read(`identity/group/id/${id}`))
    const ours =
      theirs === undefined ? undefined : await to.find('identity/lookup/group', { name: theirs.name })
    const { data } = idShape.safeParse(ours)
    if (data !== undefined) groups.set(id, data.id)
  }
  const known = (ids: ReadonlyMap<string, string>) => (_: string, before: string, id: string) => {
    const same = ids.get(id)
    if (same === undefined) unknown.push(id)
    return before + (same ?? id)
  }
  const text = policy
    .replaceAll(accessorInTemplate, known(accessors))
    .replaceAll(groupInTemplate, known(groups))
  return { text, unknown }
}
