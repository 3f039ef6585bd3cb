import { useState } from 'react'
import type { LoginFailure } from '../../api/logins.ts'
import { Button } from '../../components/button.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { visible } from '../../components/visible.ts'
import { PlaceLink, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { csvOf, grouped, type Repeated, sourceOf } from './grouped.ts'
import { sentences } from './sentences.ts'

const text = strings.logins

type Props = { readonly mount: string; readonly failures: readonly LoginFailure[] }

/** Refused logins; those with the same cause are one row. */
export function FailureRows({ mount, failures }: Props) {
  const { search } = usePlace()
  const [areGrouped, setGrouped] = useState(true)
  const rows = areGrouped
    ? grouped(failures)
    : failures.map((newest) => ({ newest, count: 1, since: newest.time }))
  return (
    <>
      <label className="check-field">
        <input type="checkbox" checked={areGrouped} onChange={({ target }) => setGrouped(target.checked)} />
        {text.group}
      </label>
      <Table
        name="login-failures"
        label={text.tabs.failures}
        columns={columnsOf(mount, search)}
        rows={rows}
        keyOf={({ newest: { request_id, time } }) => request_id || time}
      />
      <div className="actions">
        <Button onPress={() => save(mount, 'json', `${JSON.stringify(failures, null, 2)}\n`)}>
          {text.asJson}
        </Button>
        <Button onPress={() => save(mount, 'csv', csvOf(failures))}>{text.asCsv}</Button>
      </div>
    </>
  )
}

/** A hash names a role that does not exist, or that the caller may not see. */
export const ShownName = ({ name }: { readonly name: string }) =>
  name.startsWith('hmac-sha256:') ? (
    <span title={name}>{text.unknownRole(name.slice(-6))}</span>
  ) : (
    <span>{visible(name)}</span>
  )

const columnsOf = (
  mount: string,
  search: Readonly<Record<string, string | undefined>>,
): readonly Column<Repeated>[] => [
  {
    id: 'time',
    title: text.time,
    width: '14rem',
    by: ({ newest: { time } }) => Date.parse(time),
    wraps: true,
    cell: ({ newest: { time, request_id }, count, since }) => (
      <>
        {request_id === '' ? (
          <Time at={time} />
        ) : (
          <PlaceLink view="logins" parts={[mount, 'failures', request_id]} search={search}>
            <Time at={time} />
          </PlaceLink>
        )}
        {count > 1 && (
          <>
            {' '}
            <small>{text.repeated(count, since)}</small>
          </>
        )}
      </>
    ),
  },
  {
    id: 'reason',
    title: text.reason,
    width: '2fr',
    by: ({ newest: { reason } }) => reason,
    wraps: true,
    cell: ({ newest: { reason, cause } }) => (
      <>
        {sentences[reason] ?? ''} <code>{reason}</code> {cause}
      </>
    ),
  },
  { id: 'who', title: text.who, width: '2fr', wraps: true, cell: ({ newest }) => <Who failure={newest} /> },
  {
    id: 'from',
    title: text.from,
    width: '10rem',
    by: ({ newest: { remote_address } }) => remote_address,
    cell: ({ newest: { remote_address } }) => <code>{remote_address}</code>,
  },
]

function Who({ failure }: { readonly failure: LoginFailure }) {
  const { role, subject } = failure
  const source = sourceOf(failure)
  return (
    <>
      {role !== '' && (
        <strong>
          <ShownName name={role} />
        </strong>
      )}{' '}
      {subject !== '' && <ShownName name={subject} />}
      {source !== '' && source !== subject && <code> {source}</code>}
    </>
  )
}

const typeOf = { json: 'application/json', csv: 'text/csv;charset=utf-8' } as const

/** Gives the person a file that this page has made. */
function save(mount: string, ending: keyof typeof typeOf, content: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([content], { type: typeOf[ending] }))
  link.download = `failed-logins-${mount.replaceAll('/', '-')}.${ending}`
  link.click()
  URL.revokeObjectURL(link.href)
}
