import { useQuery } from '@tanstack/react-query'
import { ApiError } from '../../api/errors.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { strings } from '../../strings.ts'
import { listRateLimits, readRateLimit } from './calls.ts'

const text = strings.system

type Limit = Awaited<ReturnType<typeof readRateLimit>>['data']

/** How often clients may call what. */
export function RateLimits() {
  const { data, error } = useQuery({
    queryKey: ['rate-limits'],
    queryFn: async ({ signal }): Promise<readonly Limit[]> => {
      try {
        const { keys } = (await listRateLimits({}, { signal })).data
        return await Promise.all(
          keys.map(async (name) => (await readRateLimit({ params: { name } }, { signal })).data),
        )
      } catch (failure) {
        if (failure instanceof ApiError && failure.status === 404) return []
        throw failure
      }
    },
  })
  return (
    <>
      <ViewHeader title={text.tabs.limits} requests={[listRateLimits.request({})]} />
      <Failure error={error} />
      {data?.length === 0 && (
        <EmptyState title={text.noLimits}>
          <p>{text.noLimitsNext}</p>
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label={text.tabs.limits}
          columns={[
            { id: 'name', title: text.name, cell: ({ name }: Limit) => name },
            { id: 'path', title: text.path, cell: ({ path }: Limit) => <code>{path || '/'}</code> },
            {
              id: 'rate',
              title: text.rate,
              cell: ({ rate, interval }: Limit) => text.rateOf(rate, interval),
            },
          ]}
          rows={data}
          keyOf={({ name }) => name}
        />
      )}
    </>
  )
}
