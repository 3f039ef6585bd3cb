import type { ApiRequest } from '../../api/request.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { labelOf, type Person } from '../../shell/people.ts'
import { PlaceLink, useParameter } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.access

type Props = {
  readonly tab: 'entities' | 'groups'
  readonly empty: string
  readonly emptyNext: string
  readonly request: ApiRequest
  readonly found: readonly Person[] | undefined
  readonly error: unknown
  /** There are more than these. */
  readonly isPartial?: boolean
}

/** Objects with an id and a name. */
export function NamedList({ tab, empty, emptyNext, request, found, error, isPartial = false }: Props) {
  const [filter, setFilter] = useParameter('filter')
  const shown = (found ?? [])
    .filter(({ id, name, aliases }) =>
      [id, name, ...aliases].some((one) => folded(one).includes(folded(filter))),
    )
    .toSorted((a, b) => compare(labelOf(a), labelOf(b)))
  return (
    <>
      <ViewHeader title={text.tabs[tab]} requests={[request]} />
      <Failure error={error} />
      {found?.length === 0 && (
        <EmptyState title={empty}>
          <p>{emptyNext}</p>
        </EmptyState>
      )}
      {found !== undefined && found.length > 0 && (
        <>
          <search>
            <Field
              label={text.filters[tab]}
              hint={isPartial ? text.firstOnes(found.length) : undefined}
              value={filter}
              onChange={setFilter}
            />
          </search>
          <Table
            name="entities-or-groups"
            label={text.tabs[tab]}
            columns={[
              {
                id: 'name',
                title: text.name,
                by: labelOf,
                cell: (one: Person) => (
                  <PlaceLink view="access" parts={[tab, one.id]}>
                    {labelOf(one)}
                  </PlaceLink>
                ),
              },
              ...(tab === 'entities'
                ? [{ id: 'aliases', title: text.aliases, by: namesOf, cell: namesOf }]
                : []),
              { id: 'id', title: text.id, cell: ({ id }: Person) => <code>{id}</code> },
            ]}
            rows={shown}
            keyOf={({ id }) => id}
          />
        </>
      )}
    </>
  )
}

const namesOf = ({ aliases }: Person) => aliases.join(', ')
const folded = (text: string) => text.toLowerCase()
const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0)
