import type { Mount } from '../../../core/mounts/mount.ts'
import { deletion, type TriedChange, warned } from '../../../jwt/history/tried-change.ts'
import { onlyChanged } from '../../../jwt/history/what-if.ts'
import { type Config, type ReadyConfig, readConfig, storedConfig } from '../config/config.ts'
import { changedRole, type Role, readRole } from '../config/role.ts'
import { lintMount, lintRole } from '../explain/lint.ts'
import type { KubernetesMethod, RoleWrite } from '../method.ts'
import { configWhatIf, roleWhatIf, type WhatIfContext } from './what-if.ts'

type Place = { readonly method: KubernetesMethod; readonly mount: Mount }

async function contextOf({ method, mount }: Place, isSeen: WhatIfContext['isSeen']): Promise<WhatIfContext> {
  const memory = method.memoryOf(mount)
  return { ...memory, ready: await memory.config.find(), isSeen }
}

/** The role as a write would leave it. Throws what that write would. */
export const writtenRole = (
  { method, mount }: Place,
  name: string,
  before: Role | undefined,
  sent: RoleWrite['sent'],
): Role => readRole(name, changedRole(before?.record, sent, method.boundsOf(mount)))

export function roleChange(place: Place, name: string, write: RoleWrite): TriedChange<Role> {
  const { method, mount } = place
  const { roles, turns } = method.memoryOf(mount)
  return {
    turns,
    find: () => roles.find(name),
    whatIf: async (before, isSeen) => {
      const after = writtenRole(place, name, before, write.sent)
      const findings = {
        before: before === undefined ? [] : await lintRole(before, write.exists),
        after: await lintRole(after, write.exists),
      }
      return roleWhatIf({ name, before, after, findings }, await contextOf(place, isSeen))
    },
    write: async (check) => warned(await method.putRole(mount, name, write, check)),
  }
}

export function roleRemoval(place: Place, name: string): TriedChange<Role> {
  const { roles, turns } = place.method.memoryOf(place.mount)
  return {
    turns,
    find: () => roles.find(name),
    whatIf: async (before, isSeen) =>
      roleWhatIf(
        { name, before, after: undefined, findings: { before: [], after: [] } },
        await contextOf(place, isSeen),
      ),
    write: deletion(roles, name),
  }
}

/** Asks nobody. */
export function configChange(
  place: Place,
  sent: Config,
): TriedChange<ReadyConfig & { readonly record: Config }> {
  const { method, mount } = place
  const { turns, config, roles } = method.memoryOf(mount)
  return {
    turns,
    find: async () => {
      const ready = await config.find()
      return ready && { ...ready, record: ready.config }
    },
    whatIf: async (before, isSeen) => {
      await method.checkConfig(sent)
      const lint = async (ready: ReadyConfig | undefined) =>
        (await lintMount(
          { roles, findConfig: async () => ready, hasLocalCa: () => method.hasLocalCa() },
          { role: '', exists: async () => true, tokenType: undefined },
        )) ?? []
      const after = readConfig(storedConfig(sent))
      const findings = onlyChanged({ before: await lint(before), after: await lint(after) })
      return configWhatIf(after, await contextOf(place, isSeen), findings)
    },
    write: async (check) => warned(await method.putConfig(mount, sent, check)),
  }
}
