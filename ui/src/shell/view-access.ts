import { type View, views } from '../views/views.ts'
import { useAcl } from './acl.ts'
import { useCapabilities } from './capabilities.ts'
import { grantsOf, reachesBelow } from './grants.ts'
import { useMounts } from './mounts.ts'

/** The views that the token may use, with one call of each kind for all of them. */
export function useAllowedViews(): { readonly allowed: readonly View[]; readonly isKnown: boolean } {
  const { mounts, isKnown: areMountsKnown } = useMounts()
  const probes = views.map((view) => view.probes?.(mounts))
  const { can, isKnown } = useCapabilities(probes.flatMap((list) => (list ?? []).map(({ path }) => path)))
  const { data: acl, isPending } = useAcl()
  const grants = acl === undefined ? [] : grantsOf(acl)
  const reaches = (path: string) => acl?.root === true || reachesBelow(grants, path)
  const allowed = views.filter((view, at) => {
    const wanted = probes[at]
    const mounted = view.mounts?.(mounts)
    if (wanted === undefined && mounted === undefined) return true
    return (
      (wanted ?? []).some(({ path, capability }) => can(path, capability)) || (mounted ?? []).some(reaches)
    )
  })
  return { allowed, isKnown: isKnown && areMountsKnown && !isPending }
}
