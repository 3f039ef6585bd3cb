import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm } from '../../components/fields-form.tsx'
import { Select } from '../../components/select.tsx'
import { Table } from '../../components/table.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { FoldedHistory } from '../../history/folded-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { auditDevices, disableAudit, enableAudit } from './calls.ts'

const text = strings.system

type Device = { readonly path: string; readonly type: string; readonly options: string }

/** Where requests are recorded. */
export function AuditDevices() {
  const client = useQueryClient()
  const path = 'sys/audit/x'
  const { can } = useCapabilities([path])
  const changed = () => client.invalidateQueries({ queryKey: ['audit-devices'] })
  // both calls are for operators with sudo only
  const may = (capability: string) => can(path, capability) && can(path, 'sudo')
  const { data, error } = useQuery({
    queryKey: ['audit-devices'],
    queryFn: async ({ signal }): Promise<Device[]> =>
      Object.entries((await auditDevices({}, { signal })).data).map(([path, { type, options }]) => ({
        path,
        type,
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
          name="audit-devices"
          label={text.tabs.audit}
          columns={[
            { id: 'path', title: text.path, cell: ({ path }: Device) => <code>{path}</code> },
            { id: 'type', title: text.type, width: '6rem', cell: ({ type }: Device) => type },
            {
              id: 'options',
              title: text.options,
              width: '3fr',
              wraps: true,
              cell: ({ options }: Device) => <code>{options}</code>,
            },
            {
              id: 'actions',
              title: text.actions,
              width: '8rem',
              cell: ({ path: device }: Device) =>
                may('delete') && (
                  <Confirm
                    label={text.disable}
                    of={device}
                    question={text.disableQuestion(device)}
                    action={text.disable}
                    onConfirmed={async () => {
                      await disableAudit({ params: { path: device.replace(/\/$/, '') } })
                      await changed()
                    }}
                  >
                    <p>{text.disableAuditHint}</p>
                  </Confirm>
                ),
            },
          ]}
          rows={data}
          keyOf={({ path }) => path}
        />
      )}
      {data?.map(({ path }) => (
        <FoldedHistory key={path} name={path} path={`sys/audit/${path.replace(/\/$/, '')}`} />
      ))}
      {may('update') && <Enable onDone={changed} />}
    </>
  )
}

/** What each type of device must know. */
const optionOf = { file: 'file_path', http: 'uri' } as const

const typeNames = Object.keys(optionOf) as (keyof typeof optionOf)[]

function Enable({ onDone }: { readonly onDone: () => Promise<unknown> }) {
  const [type, setType] = useState<keyof typeof optionOf>('file')
  const option = optionOf[type]
  return (
    <FieldsForm
      key={type}
      title={text.enableAudit}
      action={text.enableAction}
      fields={[
        { name: 'path', label: text.path, isRequired: true, initial: type },
        {
          name: option,
          label: text.auditOptions[option],
          isRequired: true,
          ...(type === 'file' && { hint: strings.home.steps.fileHint }),
        },
      ]}
      run={async (value) => {
        await enableAudit({
          params: { path: value('path') },
          body: { type, options: { [option]: value(option) } },
        })
        await onDone()
      }}
    >
      <Select
        label={text.type}
        value={type}
        onChange={(name) => setType(typeNames.find((one) => one === name) ?? 'file')}
        options={typeNames.map((name) => [name, name])}
      />
    </FieldsForm>
  )
}
