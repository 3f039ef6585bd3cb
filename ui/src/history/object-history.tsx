import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useId, useState } from 'react'
import { Button } from '../components/button.tsx'
import { Confirm } from '../components/confirm.tsx'
import { Failure } from '../components/failure.tsx'
import { GuardField, guardQuery, strictest } from '../components/guard-field.tsx'
import { shortDuration, Time } from '../components/time.tsx'
import { visible } from '../components/visible.ts'
import { useCapabilities } from '../shell/capabilities.ts'
import { strings } from '../strings.ts'
import { fieldsAt, historyOf, revertTo, type Version } from './calls.ts'
import { ChangedFields } from './changed-fields.tsx'
import './history.css'

const text = strings.history

const fewest = 3

type Props = {
  readonly path: string
  /** A revert may lock people out, and takes a guard. */
  readonly isGuarded?: boolean
}

/**
 * Who changed an object and when, and a way back. `path` is where the object is read and written, with names as they
 * are: `auth/jwt/role/ci`. Shows nothing to a caller who may not read it.
 */
export function ObjectHistory({ path, isGuarded = false }: Props) {
  const id = useId()
  const { can } = useCapabilities([path])
  const [isWhole, setWhole] = useState(false)
  const [restored, setRestored] = useState<number>()
  const { data, error, dataUpdatedAt } = useQuery({
    queryKey: ['history', path],
    queryFn: ({ signal }) => historyOf({ path, signal }),
    enabled: can(path, 'read'),
    // a deletion elsewhere in the page is a version, too
    staleTime: 0,
  })
  if (error === null && (data === undefined || data.length === 0)) return null
  const versions = data ?? []
  const [latest] = versions
  // a revert is a write: of what is deleted, it makes a new object
  const mayWrite = ({ operation }: Version) => can(path, operation === 'delete' ? 'create' : 'update')
  const shown = isWhole ? versions : versions.slice(0, fewest)
  return (
    <section className="stack history" aria-labelledby={id}>
      <h3 id={id}>{text.title}</h3>
      <Failure error={error} />
      <p role="status" className={restored === undefined ? 'hidden' : 'note'}>
        {restored !== undefined && text.restored(restored)}
      </p>
      <ol>
        {shown.map((version) => (
          <li key={version.version}>
            <OneVersion version={version} now={dataUpdatedAt} />
            {latest !== undefined && isFormer(version, latest) && mayWrite(latest) && (
              <Revert
                path={path}
                isGuarded={isGuarded}
                version={version.version}
                latest={latest}
                onReverted={() => setRestored(version.version)}
              />
            )}
          </li>
        ))}
      </ol>
      {shown.length < versions.length && (
        <div className="actions">
          <Button kind="quiet" onPress={() => setWhole(true)}>
            {text.showAll(versions.length)}
          </Button>
        </div>
      )}
    </section>
  )
}

/** Whether there is something to go back to. */
const isFormer = ({ version, operation }: Version, latest: Version): boolean =>
  version !== latest.version && operation !== 'delete'

const mostNames = 6

/** A write that restores a version sets all fields, also those that stay. */
const changedNames = ({ operation, restored, changed, changes }: Version): readonly string[] => {
  if (operation !== 'update') return []
  return restored === undefined ? changed : Object.keys(changes)
}

function OneVersion({ version, now }: { readonly version: Version; readonly now: number }) {
  const { version: number, time, operation, by, restored } = version
  if (time === null || operation === null) return <p>{text.oldest(number)}</p>
  const names = changedNames(version)
  return (
    <div>
      <p>
        {visible(text.did[operation](by?.display_name || text.somebody))}{' '}
        {text.ago(shortDuration((now - Date.parse(time)) / 1000))}
        {names.length > 0 && ': '}
        {names.slice(0, mostNames).map((name, index) => (
          <span key={name}>
            {index > 0 && ', '}
            <code>{name}</code>
          </span>
        ))}
        {names.length > mostNames && text.moreNames(names.length - mostNames)}
      </p>
      <p className="hint">
        {text.version(number)}, <Time at={time} />
        {restored !== undefined && `, ${text.asVersion(restored)}`}
      </p>
    </div>
  )
}

type RevertProps = Required<Props> & {
  readonly version: number
  readonly latest: Version
  readonly onReverted: () => void
}

function Revert({ path, isGuarded, version, latest, onReverted }: RevertProps) {
  const client = useQueryClient()
  const [most, setMost] = useState(strictest)
  return (
    <Confirm
      label={text.revert(version)}
      question={text.revertQuestion(path, version)}
      action={text.revert(version)}
      onConfirmed={async () => {
        await revertTo(version, path, isGuarded ? guardQuery(most) : {})
        // whatever the page shows may come from this object
        await client.invalidateQueries()
        onReverted()
      }}
    >
      <Difference path={path} version={version} latest={latest} />
      {isGuarded && <GuardField most={most} onChange={setMost} />}
    </Confirm>
  )
}

/** Of what is deleted. */
const nothing = { fields: {} }

function Difference({ path, version, latest }: Omit<RevertProps, 'onReverted' | 'isGuarded'>) {
  const { data, error } = useQuery({
    queryKey: ['history-versions', path, version, latest.version],
    queryFn: ({ signal }) =>
      Promise.all([
        latest.operation === 'delete' ? nothing : fieldsAt(latest.version, { path, signal }),
        fieldsAt(version, { path, signal }),
      ]),
  })
  const [now, then] = data ?? []
  return (
    <>
      <Failure error={error} />
      {now !== undefined && then !== undefined && (
        <>
          <ChangedFields before={now.fields} after={then.fields} />
          {then.secrets.length > 0 && <p className="hint">{text.secrets(then.secrets.join(', '))}</p>}
        </>
      )}
    </>
  )
}
