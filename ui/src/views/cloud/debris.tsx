import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { serverNow } from '../../api/clock.ts'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { shortDuration, Time } from '../../components/time.tsx'
import { useWork } from '../../components/use-work.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { strings } from '../../strings.ts'
import { type Debris as DebrisObject, listDebris, reap, type Unowned } from './calls.ts'

const text = strings.cloud

type Mount = { readonly mount: string }

/** What the server still has to remove from the cloud. */
export function Debris({ mount }: Mount) {
  const path = `${mount}/reap`
  const { can } = useCapabilities([path])
  const params = { cloud_mount_path: mount }
  const { data, error } = useQuery({
    queryKey: ['cloud-debris', mount],
    queryFn: async ({ signal }) => (await listDebris({ params }, { signal })).data.objects,
  })
  return (
    <>
      <ViewHeader title={text.aspects.debris} requests={[listDebris.request({ params })]} />
      <Failure error={error} />
      {data?.length === 0 && <EmptyState title={text.noDebris}>{text.noDebrisNext}</EmptyState>}
      {data !== undefined && data.length > 0 && (
        <>
          <p className="hint">{text.debrisHint}</p>
          <Table
            name="debris"
            label={text.aspects.debris}
            columns={debrisColumns}
            rows={data}
            keyOf={({ kind, id, name }) => `${kind} ${id} ${name}`}
          />
        </>
      )}
      {can(path, 'update') && <Reaping mount={mount} />}
    </>
  )
}

type Left = { readonly kind: string; readonly id: string; readonly name: string }

const objectColumns = <Row extends Left>(): readonly Column<Row>[] => [
  {
    id: 'kind',
    title: text.kind,
    width: '10rem',
    by: ({ kind }) => kind,
    cell: ({ kind }) => text.kinds[kind] ?? kind,
  },
  {
    id: 'object',
    title: text.object,
    by: ({ name }) => name,
    width: '2fr',
    cell: ({ id, name }) => (
      <span className="object">
        <span>{name}</span> <code>{id}</code>
      </span>
    ),
  },
]

const debrisColumns: readonly Column<DebrisObject>[] = [
  ...objectColumns<DebrisObject>(),
  {
    id: 'age',
    title: text.age,
    width: '12rem',
    by: ({ since }) => -Date.parse(since),
    cell: ({ since, tries }) => (
      <span title={since}>
        {shortDuration((serverNow() - Date.parse(since)) / 1000)}, {text.tries(tries)}
      </span>
    ),
  },
  { id: 'error', title: text.lastError, width: '2fr', wraps: true, cell: ({ error }) => error },
]

const unownedColumns: readonly Column<Unowned>[] = [
  ...objectColumns<Unowned>(),
  {
    id: 'created',
    title: text.created,
    width: '12rem',
    cell: ({ created }) => (created === null ? '' : <Time at={created} />),
  },
  { id: 'reason', title: text.reason, width: '2fr', wraps: true, cell: ({ reason }) => reason },
]

/** Compares the directory with the server's records. */
function Reaping({ mount }: Mount) {
  const client = useQueryClient()
  const [outcome, setOutcome] = useState<{ found?: readonly Unowned[]; deleted?: number }>({})
  const params = { cloud_mount_path: mount }
  const finding = useWork()
  const find = async (signal: AbortSignal) => {
    setOutcome({})
    setOutcome({ found: (await reap({ params, body: { dry_run: true } }, { signal })).data.objects })
  }
  return (
    <section className="panel" aria-labelledby="reaping">
      <h2 id="reaping">{text.reaping}</h2>
      <p className="hint">{text.reapingHint}</p>
      <div className="actions">
        {/* one button: the focus stays on it */}
        <Button onPress={() => (finding.isRunning ? finding.cancel() : void finding.run(find))}>
          {finding.isRunning ? strings.cancel : text.find}
        </Button>
        <Confirm
          label={text.reap}
          question={text.reapQuestion(mount)}
          action={text.reap}
          onConfirmed={async () => {
            const { deleted } = (await reap({ params, body: { dry_run: false } })).data
            setOutcome({ deleted })
            await client.invalidateQueries({ queryKey: ['cloud-debris', mount] })
          }}
        >
          <p>{text.reapHint}</p>
        </Confirm>
      </div>
      <Failure error={finding.error} />
      <p role="status">
        {outcome.deleted !== undefined && text.deletedObjects(outcome.deleted)}
        {outcome.found?.length === 0 && text.nothingUnowned}
      </p>
      {outcome.found !== undefined && outcome.found.length > 0 && (
        <Table
          name="unowned-objects"
          label={text.unowned}
          columns={unownedColumns}
          rows={outcome.found}
          keyOf={({ id }) => id}
        />
      )}
    </section>
  )
}
