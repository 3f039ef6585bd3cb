import type { Mount } from '../../core/mounts/mount.ts'
import type { Served, VerbName } from '../exchange/exchange.ts'
import type { Plugin } from '../resource/plugin.ts'
import { capturesIn, type Resource } from '../resource/resource.ts'

/** The path of a login, and what it captures. */
export type LoginRoute = {
  readonly verbs: Readonly<Partial<Record<VerbName, Served>>>
  readonly params: Readonly<Record<string, string>>
}

type Place = { readonly pattern: RegExp; readonly verbs: LoginRoute['verbs'] }

/** The paths that answer with a token to callers without one. */
export class LoginRoutes {
  /** By the name of the plugin. */
  readonly #places: ReadonlyMap<string, readonly Place[]>

  constructor(plugins: readonly Plugin[]) {
    this.#places = new Map(
      [...Map.groupBy(plugins, ({ names: [name] }) => name)].map(([name, group]) => [
        name,
        group.flatMap(({ resources }) => resources.flatMap(placesOf)),
      ]),
    )
  }

  /** The login at a path below a mount; undefined if there is none. */
  find({ plugin }: Mount, below: string): LoginRoute | undefined {
    for (const { pattern, verbs } of this.#places.get(plugin) ?? []) {
      const found = pattern.exec(`/${below}`)
      if (found !== null) return { verbs, params: { ...found.groups } }
    }
    return undefined
  }
}

function placesOf({ path, verbs }: Resource): Place[] {
  const logins = Object.entries(verbs).filter(([, { rules }]) => rules.isLogin)
  return logins.length === 0 ? [] : [{ pattern: capturesIn(path), verbs: Object.fromEntries(logins) }]
}
