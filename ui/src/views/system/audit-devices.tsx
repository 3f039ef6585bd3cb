import { useQuery } from '@tanstack/react-query'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { strings } from '../../strings.ts'
import { auditDevices } from './calls.ts'

const text = strings.system

type Device = { readonly path: string; readonly type: string; readonly options: string }

/** Where requests are recorded. */
export function AuditDevices() {
  const { data, error } = useQuery({
    queryKey: ['audit-devices'],
    queryFn: async ({ signal }): Promise<Device[]> =>
      Object.entries((await auditDevices({}, { signal })).data).map(([path, { type, options }]) => ({
        ...{ path, type },
        options: Object.entries(options)
          .map(([name, value]) => `${name}=${value}`)
          .join(' '),
      })),
  })
  return (
    <>
      <ViewHeader title={text.tabs.audit} requests={[auditDevices.request({})]} />
      <Failure error={error} />
      {data?.length === 0 && (
        <EmptyState title={text.noAudit}>
          <p>{text.noAuditNext}</p>
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          label={text.tabs.audit}
          columns={[
            { id: 'path', title: text.path, cell: ({ path }: Device) => <code>{path}</code> },
            { id: 'type', title: text.type, width: '6rem', cell: ({ type }: Device) => type },
            {
              id: 'options',
              title: text.options,
              width: '3fr',
              cell: ({ options }: Device) => <code>{options}</code>,
            },
          ]}
          rows={data}
          keyOf={({ path }) => path}
        />
      )}
    </>
  )
}
