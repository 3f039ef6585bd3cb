import { useInfiniteQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { visible } from '../../components/visible.ts'
import { type DeletedObject, deletedObjects } from '../../history/calls.ts'
import { ObjectHistory } from '../../history/object-history.tsx'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.history.deleted

/** The objects of this namespace that were deleted, with their history, which brings them back. */
export function Deleted() {
  const [, picked] = usePlace().parts
  const { data, error, hasNextPage, fetchNextPage, isFetchingNextPage } = useInfiniteQuery({
    queryKey: ['deleted-objects'],
    queryFn: ({ signal, pageParam }) =>
      deletedObjects(pageParam === '' ? {} : { query: { after: pageParam } }, { signal }),
    initialPageParam: '',
    staleTime: 0,
    getNextPageParam: ({ data: { next } }) => next,
  })
  const rows = data?.pages.flatMap(({ data: { deleted } }) => deleted) ?? []
  // a link may name any path, and a read of some makes credentials; an object that came back is still shown
  const [listed, setListed] = useState<string>()
  if (listed !== picked && rows.some(({ path, restorable }) => restorable && path === picked))
    setListed(picked)
  return (
    <>
      <ViewHeader title={text.title} requests={[deletedObjects.request({})]} />
      <Failure error={error} />
      {data !== undefined && rows.length === 0 && <EmptyState title={text.none}>{text.noneNext}</EmptyState>}
      {rows.length > 0 && (
        <Table
          name="deleted-objects"
          label={text.title}
          columns={columns}
          rows={rows}
          keyOf={({ path, version }) => `${path} ${version}`}
        />
      )}
      {picked !== undefined && picked === listed && (
        <section className="panel" aria-labelledby="deleted-object">
          <h2 id="deleted-object" className="mono">
            {visible(picked)}
          </h2>
          <ObjectHistory key={picked} path={picked} />
        </section>
      )}
      {hasNextPage && (
        <div className="actions">
          <Button onPress={() => void fetchNextPage()}>
            {isFetchingNextPage ? text.loading : text.more}
          </Button>
        </div>
      )}
    </>
  )
}

const columns: readonly Column<DeletedObject>[] = [
  {
    id: 'path',
    title: text.object,
    by: ({ path }) => path,
    width: '2fr',
    cell: ({ path, restorable }) =>
      restorable ? (
        <PlaceLink view="system" parts={['deleted', path]}>
          <code>{path}</code>
        </PlaceLink>
      ) : (
        <>
          <code>{path}</code> <span className="hint">{text.gone}</span>
        </>
      ),
  },
  {
    id: 'when',
    title: text.when,
    width: '12rem',
    by: ({ time }) => Date.parse(time),
    cell: ({ time }) => <Time at={time} />,
  },
  {
    id: 'by',
    title: text.by,
    by: ({ by }) => by.display_name,
    cell: ({ by }) => by.display_name || strings.history.somebody,
  },
]
