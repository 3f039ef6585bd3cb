import { useQuery } from '@tanstack/react-query'
import { ifMissing } from '../../api/errors.ts'
import type { ApiRequest } from '../../api/request.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.access

type Named = { readonly id: string; readonly name: string }

/** Ids with their names, sorted by name. */
export const namedBy = ({
  keys,
  key_info,
}: {
  readonly keys: readonly string[]
  readonly key_info: Readonly<Record<string, { readonly name: string }>>
}): Named[] =>
  keys
    .map((id) => ({ id, name: key_info[id]?.name ?? id }))
    .toSorted((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))

type Props = {
  readonly tab: 'entities' | 'groups'
  readonly empty: string
  readonly emptyNext: string
  readonly request: ApiRequest
  readonly load: (signal: AbortSignal) => Promise<readonly Named[]>
}

/** Objects with an id and a name. */
export function NamedList({ tab, empty, emptyNext, request, load }: Props) {
  const { search } = usePlace()
  const go = useGo()
  const filter = search['filter'] ?? ''
  const { data, error } = useQuery({ queryKey: [tab], queryFn: ({ signal }) => ifMissing(load(signal), []) })
  const shown = (data ?? []).filter(({ id, name }) => name.includes(filter) || id.startsWith(filter))
  return (
    <>
      <ViewHeader title={text.tabs[tab]} requests={[request]} />
      <Failure error={error} />
      {data?.length === 0 && (
        <EmptyState title={empty}>
          <p>{emptyNext}</p>
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && (
        <>
          <Field
            label={text.filter}
            value={filter}
            onChange={(value) =>
              go({ view: 'access', parts: [tab], search: { filter: value } }, { replace: true })
            }
          />
          <Table
            label={text.tabs[tab]}
            columns={[
              {
                id: 'name',
                title: text.name,
                cell: ({ id, name }: Named) => (
                  <PlaceLink view="access" parts={[tab, id]}>
                    {name}
                  </PlaceLink>
                ),
              },
              { id: 'id', title: text.id, cell: ({ id }: Named) => <code>{id}</code> },
            ]}
            rows={shown}
            keyOf={({ id }) => id}
          />
        </>
      )}
    </>
  )
}
