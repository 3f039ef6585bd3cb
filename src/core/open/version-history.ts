import { z } from 'zod'
import type { Clock } from '../../lib/system/clock.ts'
import type { View } from '../barrier/view.ts'

const prefix = 'version-history/'
const stored = z.object({
  /** When it first opened the store, in milliseconds since the epoch. */
  installed: z.number(),
  previous: z.string().nullable(),
  /** When it was made, in RFC 3339; undefined for one that did not note it. */
  made: z.string().optional(),
})

export type InstalledVersion = z.output<typeof stored> & { readonly version: string }

/** The versions that have opened the store, in the order of their first start. */
export async function versionHistory(view: View): Promise<InstalledVersion[]> {
  const entries = await view.list(prefix)
  return entries
    .flatMap(({ key, value }) => {
      const found = stored.safeParse(value).data
      return found === undefined ? [] : [{ version: key.slice(prefix.length), ...found }]
    })
    .toSorted((one, other) => one.installed - other.installed)
}

/** Notes that this version, made at that time, opens the store, unless it did before. */
export async function noteVersion(
  view: View,
  { version, made }: { readonly version: string; readonly made: string },
  clock: Clock,
): Promise<void> {
  const key = prefix + version
  if ((await view.get(key)) !== undefined) return
  const previous = (await versionHistory(view)).at(-1)?.version ?? null
  await view.putIfAbsent(key, { installed: clock.now(), previous, made })
}
