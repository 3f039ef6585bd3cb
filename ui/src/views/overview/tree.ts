import type { Grant } from '../../shell/grants.ts'

/** A path, or the part of one that several share. */
export type Branch = {
  /** The path up to here. */
  readonly id: string
  /** What it adds to the branch above it. */
  readonly label: string
  /** Also everything that begins so. */
  readonly isPrefix: boolean
  /** Undefined: only branches below it are granted. */
  readonly capabilities: readonly string[] | undefined
  readonly below: readonly Branch[]
}

/** The granted paths as a tree. A branch with nothing but one branch below it is written as one. */
export const treeOf = (grants: readonly Grant[]): readonly Branch[] =>
  branchesAt(
    '',
    grants.map((grant) => ({ grant, segments: segmentsOf(grant) })),
  )

type Placed = { readonly grant: Grant; readonly segments: readonly string[] }

/** `a/b` is `a/` and `b`; what begins with `a/` is `a/` and `*`. */
const segmentsOf = ({ path, isPrefix }: Grant): string[] => {
  const segments = path.match(/[^/]*\/|[^/]+$/g) ?? []
  return isPrefix ? [...segments, '*'] : segments
}

function branchesAt(prefix: string, placed: readonly Placed[]): readonly Branch[] {
  const bySegment = Map.groupBy(placed, ({ segments: [first = ''] }) => first)
  return [...bySegment].map(([segment, those]) => {
    const isPrefix = segment === '*'
    const id = `${prefix}${segment}`
    const own = those.find(({ segments }) => segments.length <= 1)
    const rest = those
      .filter((one) => one !== own)
      .map(({ grant, segments }) => ({ grant, segments: segments.slice(1) }))
    const below = rest.length === 0 ? [] : branchesAt(id, rest)
    const capabilities = own?.grant.capabilities
    const [only] = below
    if (capabilities === undefined && only !== undefined && below.length === 1)
      return { ...only, label: `${segment}${only.label}` }
    return { id, label: isPrefix ? '' : segment, isPrefix, capabilities, below }
  })
}
