import { useQuery, useQueryClient } from '@tanstack/react-query'
import { keysOf } from '../../api/errors.ts'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm } from '../../components/fields-form.tsx'
import { Table } from '../../components/table.tsx'
import { shortDuration } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { FoldedHistory } from '../../history/folded-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { deleteRateLimit, listRateLimits, readRateLimit, writeRateLimit } from './calls.ts'

const text = strings.system

type Limit = Awaited<ReturnType<typeof readRateLimit>>['data']

/** How often clients may call what. */
export function RateLimits() {
  const client = useQueryClient()
  const path = 'sys/quotas/rate-limit/x'
  const { can } = useCapabilities([path])
  const changed = () => client.invalidateQueries({ queryKey: ['rate-limits'] })
  const { data, error } = useQuery({
    queryKey: ['rate-limits'],
    queryFn: async ({ signal }): Promise<readonly Limit[]> => {
      const names = await keysOf(listRateLimits({}, { signal }))
      return Promise.all(
        names.map(async (name) => (await readRateLimit({ params: { name } }, { signal })).data),
      )
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
          name="rate-limits"
          label={text.tabs.limits}
          columns={[
            { id: 'name', title: text.name, by: ({ name }: Limit) => name, cell: ({ name }: Limit) => name },
            {
              id: 'path',
              title: text.path,
              by: ({ path }: Limit) => path,
              cell: ({ path }: Limit) => <code>{path || '/'}</code>,
            },
            {
              id: 'rate',
              title: text.rate,
              width: '9rem',
              cell: ({ rate, interval }: Limit) =>
                interval === 1 ? text.ratePerSecond(rate) : text.rateOf(rate, shortDuration(interval)),
            },
            {
              id: 'actions',
              title: text.actions,
              width: '7rem',
              cell: ({ name }: Limit) =>
                can(path, 'delete') && (
                  <Confirm
                    label={text.delete}
                    of={name}
                    question={text.deleteLimitQuestion(name)}
                    action={text.delete}
                    onConfirmed={async () => {
                      await deleteRateLimit({ params: { name } })
                      await changed()
                    }}
                  >
                    <p>{text.deleteLimitHint}</p>
                  </Confirm>
                ),
            },
          ]}
          rows={data}
          keyOf={({ name }) => name}
        />
      )}
      {data?.map(({ name }) => (
        <FoldedHistory key={name} name={name} path={`sys/quotas/rate-limit/${name}`} />
      ))}
      {can(path, 'update') && (
        <FieldsForm
          title={text.newLimit}
          action={text.save}
          fields={[
            { name: 'name', label: text.name, isRequired: true },
            { name: 'path', label: text.path, hint: text.limitPathHint },
            { name: 'rate', label: text.requests, isRequired: true },
            { name: 'interval', label: text.interval, hint: text.intervalHint, initial: '1s' },
          ]}
          run={async (value) => {
            const body = { path: value('path'), rate: Number(value('rate')), interval: value('interval') }
            await writeRateLimit({ params: { name: value('name') }, body })
            await changed()
          }}
        />
      )}
    </>
  )
}
