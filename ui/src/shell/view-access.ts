import { type View, views } from '../views/views.ts'
import { useCapabilities } from './capabilities.ts'
import { useMounts } from './mounts.ts'

/** The views that the token may use, with one call for all of them. */
export function useAllowedViews(): { readonly allowed: readonly View[]; readonly isKnown: boolean } {
  const { mounts, isKnown: areMountsKnown } = useMounts()
  const probes = views.map((view) => view.probes?.(mounts))
  const { can, isKnown } = useCapabilities(probes.flatMap((list) => (list ?? []).map(({ path }) => path)))
  const allowed = views.filter((_, at) => {
    const wanted = probes[at]
    return wanted === undefined || wanted.some(({ path, capability }) => can(path, capability))
  })
  return { allowed, isKnown: isKnown && areMountsKnown }
}
