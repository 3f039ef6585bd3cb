import { visible } from '../components/visible.ts'
import { labelOf, otherNames, useGroups, usePerson } from './people.ts'
import { PlaceLink } from './use-place.tsx'

type Props = {
  readonly id: string
  /** Facts that are known without another call. */
  readonly name?: string
}

/** A person by their names, for the id of an entity; the id itself where the token may not read it. */
export function Who({ id, name = '' }: Props) {
  const person = usePerson(id)
  if (person === undefined) return name === '' ? <code>{id}</code> : visible(name)
  const others = otherNames(person)
  return (
    <>
      <PlaceLink view="access" parts={['entities', id]}>
        {visible(labelOf(person))}
      </PlaceLink>
      {others.length > 0 && <span className="hint"> {visible(others.join(', '))}</span>}
    </>
  )
}

/** Several people. */
export const People = ({ ids }: { readonly ids: readonly string[] }) =>
  ids.length === 0 ? (
    '–'
  ) : (
    <ul>
      {ids.map((id) => (
        <li key={id}>
          <Who id={id} />
        </li>
      ))}
    </ul>
  )

/** Groups by their names where the token may list them. */
export function GroupLinks({ ids }: { readonly ids: readonly string[] }) {
  const { groups } = useGroups()
  if (ids.length === 0) return '–'
  return (
    <ul>
      {ids.map((id) => (
        <li key={id}>
          <PlaceLink view="access" parts={['groups', id]}>
            {groups?.find((group) => group.id === id)?.name ?? <code>{id}</code>}
          </PlaceLink>
        </li>
      ))}
    </ul>
  )
}
