import { labelOf, otherNames, usePerson } from './people.ts'
import { PlaceLink } from './use-place.tsx'

/** A person by their names, for the id of an entity; the id itself where the token may not read it. */
export function Who({ id }: { readonly id: string }) {
  const person = usePerson(id)
  if (person === undefined) return <code>{id}</code>
  const others = otherNames(person)
  return (
    <>
      <PlaceLink view="access" parts={['entities', id]}>
        {labelOf(person)}
      </PlaceLink>
      {others.length > 0 && <span className="hint"> {others.join(', ')}</span>}
    </>
  )
}
