import { useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import {
  destroyVersions,
  type Metadata,
  readSecret,
  restoreVersion,
  undeleteVersions,
  writeSecret,
} from './calls.ts'
import { endpointPath, type SecretPlace } from './place.ts'

const text = strings.secrets

type Facts = { readonly destroyed: boolean; readonly deletion_time: string }

/** What can be done with a version. */
export const stateOf = ({ destroyed, deletion_time: at }: Facts): 'there' | 'deleted' | 'destroyed' =>
  destroyed ? 'destroyed' : at !== '' && Date.parse(at) <= serverNow() ? 'deleted' : 'there'

const kinds = { there: 'good', deleted: 'warning', destroyed: 'over' } as const

type Version = Metadata['versions'][string] & { readonly number: number }

type Props = {
  readonly place: SecretPlace
  readonly metadata: Metadata
  /** Undefined: the current one. */
  readonly shown: number | undefined
}

/** All versions, the latest first. */
export function Versions({ place, metadata, shown }: Props) {
  const versions = Object.entries(metadata.versions)
    .map(([number, facts]): Version => ({ number: Number(number), ...facts }))
    .toSorted((a, b) => b.number - a.number)
  if (versions.length === 0) return null
  return (
    <section className="panel" aria-labelledby="versions">
      <h2 id="versions">{text.versions}</h2>
      <Table
        name="versions"
        label={text.versions}
        columns={columnsOf(place, metadata.current_version, shown ?? metadata.current_version)}
        rows={versions}
        keyOf={({ number }) => String(number)}
      />
    </section>
  )
}

const columnsOf = (place: SecretPlace, current: number, shown: number): readonly Column<Version>[] => [
  {
    id: 'number',
    title: text.version,
    width: '6.5rem',
    cell: ({ number }) =>
      number === shown ? (
        <strong>
          {number} <span className="hint">{text.shown}</span>
        </strong>
      ) : (
        <PlaceLink
          view="secrets"
          parts={[place.mount, place.path]}
          search={{ version: number === current ? undefined : String(number) }}
        >
          {number}
        </PlaceLink>
      ),
  },
  { id: 'created', title: text.created, width: '10.5rem', cell: (row) => <Time at={row.created_time} /> },
  { id: 'by', title: text.by, cell: (row) => row.created_by.actor },
  { id: 'state', title: text.state, width: '11rem', cell: (row) => <StateText row={row} /> },
  {
    id: 'actions',
    title: text.actions,
    width: '21rem',
    cell: (row) => <VersionActions place={place} row={row} current={current} shown={shown} />,
  },
]

const StateText = ({ row }: { readonly row: Version }) => {
  const state = stateOf(row)
  if (state !== 'there' || row.deletion_time === '')
    return <State kind={kinds[state]}>{text.stateNames[state]}</State>
  return (
    <State kind="waiting">
      {text.until} <Time at={row.deletion_time} />
    </State>
  )
}

/** Rolls back in one step, or where the token may not, by a read and a write that nobody else may come between. */
async function rollBack({ params, can, ...place }: SecretPlace, version: number, current: number) {
  const path = endpointPath(place, 'restore')
  if (can(path, 'update') || can(path, 'create')) return restoreVersion({ params, body: { version } })
  const { data } = await readSecret({ params, query: { version: String(version) } })
  return writeSecret({ params, body: { data: data.data ?? {}, options: { cas: current } } })
}

type ActionProps = {
  readonly place: SecretPlace
  readonly row: Version
  readonly current: number
  readonly shown: number
}

function VersionActions({ place, row, current, shown }: ActionProps) {
  const { can, params } = place
  const go = useGo()
  const [error, setError] = useState<unknown>()
  const state = stateOf(row)
  const body = { versions: [row.number] }
  const run = (call: () => Promise<unknown>) =>
    void call()
      .then(() => place.changed())
      .then(() => {
        setError(undefined)
        announce(strings.saved)
      }, setError)
  const may = (endpoint: 'undelete' | 'destroy' | 'restore') => {
    const path = endpointPath(place, endpoint)
    return can(path, 'update') || can(path, 'create')
  }
  const data = endpointPath(place, 'data')
  const mayRollBack = may('restore') || (can(data, 'read') && can(data, 'update'))
  return (
    <div className="row-actions">
      {row.number !== shown && state === 'there' && can(data, 'read') && (
        <PlaceLink
          view="secrets"
          parts={[place.mount, place.path]}
          search={{ version: String(shown), compare: String(row.number) }}
        >
          {text.compareWith(shown)}
        </PlaceLink>
      )}
      {row.number !== current && state === 'there' && mayRollBack && (
        <Button
          kind="quiet"
          aria-label={text.restoreOf(row.number)}
          onPress={() =>
            run(async () => {
              await rollBack(place, row.number, current)
              // to the version that is current now
              go({ view: 'secrets', parts: [place.mount, place.path] })
            })
          }
        >
          {text.restore}
        </Button>
      )}
      {state === 'deleted' && may('undelete') && (
        <Button
          kind="quiet"
          aria-label={text.undeleteOf(row.number)}
          onPress={() => run(() => undeleteVersions({ params, body }))}
        >
          {text.undelete}
        </Button>
      )}
      {state !== 'destroyed' && may('destroy') && (
        <Confirm
          label={text.destroy}
          of={text.versionTitle(row.number, false).toLowerCase()}
          question={text.destroyQuestion(row.number, place.path)}
          action={text.destroy}
          onConfirmed={async () => {
            await destroyVersions({ params, body })
            await place.changed()
          }}
        >
          <p>{text.destroyHint}</p>
        </Confirm>
      )}
      <Failure error={error} />
    </div>
  )
}
