import { type View, views } from '../views/views.ts'
import { useReach } from './acl.ts'
import { useCapabilities } from './capabilities.ts'
import { useMounts } from './mounts.ts'

/** The views that the token may use, with one call of each kind for all of them. */
export function useAllowedViews(): { readonly allowed: readonly View[]; readonly isKnown: boolean } {
  const { mounts, isKnown: areMountsKnown } = useMounts()
  const probes = views.map((view) => view.probes?.(mounts))
  const { can, isKnown } = useCapabilities(probes.flatMap((list) => (list ?? []).map(({ path }) => path)))
  const { reaches, isKnown: isReachKnown } = useReach()
  const allowed = views.filter((view, at) => {
    const wanted = probes[at]
    const below = view.below?.(mounts)
    if (wanted === undefined && below === undefined) return true
    return (
      (wanted ?? []).some(({ path, capability }) => can(path, capability)) ||
      (below ?? []).some(({ path, capability }) =>
        reaches(path, (granted) => capability === undefined || granted.includes(capability)),
      )
    )
  })
  return { allowed, isKnown: isKnown && areMountsKnown && isReachKnown }
}
