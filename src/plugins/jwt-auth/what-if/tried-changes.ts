import type { Mount } from '../../../core/mounts/mount.ts'
import { deletion, type TriedChange, warned } from '../../../jwt/history/tried-change.ts'
import { parseLossless, stringifyJson } from '../../../lib/text/json.ts'
import { askedOf } from '../cel/cel-login.ts'
import {
  type CelRole,
  type CelRoleInput,
  celRoleWarnings,
  newCelRole,
  readCelRole,
  shownCelRole,
} from '../cel/cel-role.ts'
import { type Config, type ConfigInput, readConfig, replaced } from '../config/jwt-config.ts'
import type { ReadyConfig } from '../config/mount-state.ts'
import { changedRole, type Role, type RoleRecord, readRole } from '../config/role.ts'
import { lintRole, lintWrite } from '../explain/lint.ts'
import { lintCelRole } from '../explain/lint-cel.ts'
import type { JwtMethod, RoleWrite } from '../method.ts'
import { configWhatIf, roleWhatIf } from './what-if.ts'

type PolicyExists = RoleWrite['policyExists']

const everyPolicyExists: PolicyExists = async () => true

/** The record that a write would store, read as a login reads it. */
const asStored = (record: object): unknown => parseLossless(stringifyJson(record))

type OneRole = { readonly mount: Mount; readonly name: string }

/** The role as a write would leave it. Throws what that write would. */
export const writtenRole = (
  method: JwtMethod,
  { mount, name }: OneRole,
  before: Role | undefined,
  sent: RoleRecord,
): Role => readRole(name, asStored(changedRole(before?.record, sent, method.boundsOf(mount))))

export function roleChange(
  method: JwtMethod,
  mount: Mount,
  name: string,
  write: RoleWrite,
): TriedChange<Role> {
  const { policyExists, sent, unknown } = write
  const tokenType = mount.config.token_type
  return {
    turns: method.memoryOf(mount).turns,
    find: () => method.stateOf(mount).roles.find(name),
    whatIf: async (before, isSeen) => {
      const after = writtenRole(method, { mount, name }, before, sent)
      return roleWhatIf(
        {
          name,
          before,
          after,
          lint: async (which, config) => {
            const context = { config, tokenType, policyExists }
            if (which === 'before') return before === undefined ? [] : lintRole(before, context)
            const found = await lintRole(after, context)
            return [...found, ...lintWrite(name, { before: before?.record, sent, unknown })]
          },
        },
        { ...method.memoryOf(mount), isSeen },
      )
    },
    write: async (check) => warned(await method.putRole(mount, name, write, check)),
  }
}

export function roleRemoval(method: JwtMethod, mount: Mount, name: string): TriedChange<Role> {
  const { roles } = method.stateOf(mount)
  return {
    turns: method.memoryOf(mount).turns,
    find: () => roles.find(name),
    whatIf: (before, isSeen) =>
      roleWhatIf(
        { name, before, after: undefined, lint: async () => [] },
        { ...method.memoryOf(mount), isSeen },
      ),
    write: deletion(roles, name),
  }
}

/** `decide` returns the role as it would be written. Throws `invalid` for a program that is not accepted. */
export function celRoleChange(
  method: JwtMethod,
  mount: Mount,
  name: string,
  { decide, policyExists }: { decide(before: CelRole | undefined): CelRole; policyExists: PolicyExists },
): TriedChange<CelRole> {
  const { celRoles } = method.stateOf(mount)
  return {
    turns: method.memoryOf(mount).turns,
    find: () => celRoles.find(name),
    whatIf: async (before, isSeen) => {
      const after = readCelRole(name, asStored(decide(before).record))
      return celRoleWhatIf(method, mount, { name, before, after, policyExists }, isSeen)
    },
    write: async (check) => {
      const role = await celRoles.change(name, (before) => {
        check?.(before?.record)
        return decide(before).record
      })
      return { data: shownCelRole(role), warnings: celRoleWarnings(role) }
    },
  }
}

/** A write that says all of the role. */
export const celReplacement = (
  method: JwtMethod,
  { mount, name }: { readonly mount: Mount; readonly name: string },
  input: CelRoleInput,
  policyExists: PolicyExists,
): TriedChange<CelRole> =>
  celRoleChange(method, mount, name, { decide: () => newCelRole(name, input), policyExists })

export function celRoleRemoval(method: JwtMethod, mount: Mount, name: string): TriedChange<CelRole> {
  const { celRoles } = method.stateOf(mount)
  return {
    turns: method.memoryOf(mount).turns,
    find: () => celRoles.find(name),
    whatIf: (before, isSeen) =>
      celRoleWhatIf(
        method,
        mount,
        { name, before, after: undefined, policyExists: everyPolicyExists },
        isSeen,
      ),
    write: deletion(celRoles, name),
  }
}

function celRoleWhatIf(
  method: JwtMethod,
  mount: Mount,
  change: {
    readonly name: string
    readonly before: CelRole | undefined
    readonly after: CelRole | undefined
    readonly policyExists: PolicyExists
  },
  isSeen: (role: string) => boolean,
) {
  const { before, after, policyExists } = change
  const tokenType = mount.config.token_type
  return roleWhatIf(
    {
      name: `cel/${change.name}`,
      before: before && askedOf(before),
      after: after && askedOf(after),
      lint: async (which, config) => {
        const role = change[which]
        return role === undefined ? [] : lintCelRole(role, { config, tokenType, policyExists })
      },
    },
    { ...method.memoryOf(mount), isSeen },
  )
}

/** Refuses what a write would refuse. */
export function configChange(
  method: JwtMethod,
  mount: Mount,
  input: ConfigInput,
): TriedChange<ReadyConfig & { readonly record: Config }> {
  const { turns, state } = method.memoryOf(mount)
  return {
    turns,
    find: async () => {
      const ready = await state.findConfig()
      return ready && { ...ready, record: ready.config }
    },
    whatIf: async (before, isSeen) => {
      await method.checkConfig(mount, input)
      const config = readConfig(asStored(replaced(input, before?.config)))
      const policyExists = everyPolicyExists
      return configWhatIf(
        config,
        async (role, judged) => lintRole(role, { config: judged, tokenType: undefined, policyExists }),
        { ...method.memoryOf(mount), isSeen },
      )
    },
    write: async (check) => warned(await method.putConfig(mount, input, check)),
  }
}
