import { useState } from 'react'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { useAcl, useReach } from '../../shell/acl.ts'
import { type Grant, grantsOf } from '../../shell/grants.ts'
import { useMounts } from '../../shell/mounts.ts'
import { PlaceLink, useParameter } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { type Door, openMounts } from './doors.ts'
import { type Branch, treeOf } from './tree.ts'

const text = strings.home

/** Links to the places that the token may open. The rules of its policies open on request. */
export function Reach() {
  const { data, error } = useAcl()
  const { mounts } = useMounts()
  const { reaches } = useReach()
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const grants = grantsOf(data)
  const open = openMounts(mounts, grants, reaches)
  return (
    <section className="panel" aria-labelledby="reach">
      <h2 id="reach">{text.reach}</h2>
      {open.length === 0 && !data.root && <EmptyState title={text.nothing}>{text.nothingNext}</EmptyState>}
      <ul className="doors">
        {open.map((mount) => (
          <li key={mount.label}>
            <DoorLink door={mount} /> <span className="hint">{strings.views[mount.view]}</span>
            <Doors doors={mount.below} />
          </li>
        ))}
      </ul>
      {data.root ? <p>{text.everything}</p> : <Rules grants={grants} />}
    </section>
  )
}

const mostDoors = 20

const Doors = ({ doors }: { readonly doors: readonly Door[] }) => (
  <ul className="tags">
    {doors.slice(0, mostDoors).map((door) => (
      <li key={door.parts.join('\n')}>
        <DoorLink door={door} />
      </li>
    ))}
    {doors.length > mostDoors && <li>{text.moreDoors(doors.length - mostDoors)}</li>}
  </ul>
)

const DoorLink = ({ door: { label, view, parts } }: { readonly door: Door }) => (
  <PlaceLink view={view} parts={parts}>
    {label}
  </PlaceLink>
)

/** More branches than that are closed at first. */
const mostOpen = 40

/** The rules of the token's policies, path by path. */
function Rules({ grants }: { readonly grants: readonly Grant[] }) {
  const [filter, setFilter] = useParameter('filter')
  const shown = grants.filter(({ path }) => path.includes(filter))
  const [startsOpen] = useState(filter !== '')
  if (grants.length === 0) return null
  return (
    <details className="rules" open={startsOpen}>
      <summary>{text.rules}</summary>
      <div className="stack">
        <search>
          <Field label={text.filter} value={filter} onChange={setFilter} />
        </search>
        {shown.length === 0 && <p role="status">{strings.noMatch}</p>}
        <Tree
          key={String(filter === '')}
          branches={treeOf(shown)}
          isOpen={filter !== '' || shown.length <= mostOpen}
        />
      </div>
    </details>
  )
}

function Tree({ branches, isOpen }: { readonly branches: readonly Branch[]; readonly isOpen: boolean }) {
  return (
    <ul className="reach">
      {branches.map((branch) => (
        <li key={branch.id}>
          {branch.below.length === 0 ? (
            <Path branch={branch} />
          ) : (
            <details open={isOpen}>
              <summary>
                <Path branch={branch} />
              </summary>
              <Tree branches={branch.below} isOpen={isOpen} />
            </details>
          )}
        </li>
      ))}
    </ul>
  )
}

const Path = ({ branch: { label, isPrefix, capabilities } }: { readonly branch: Branch }) => (
  <span className="reached">
    <code>
      {label}
      {isPrefix && (
        <>
          <span aria-hidden="true">*</span>
          <span className="hidden">{text.below}</span>
        </>
      )}
    </code>{' '}
    {capabilities !== undefined && <span className="may">{capabilities.join(', ')}</span>}
  </span>
)
