import { useQuery } from '@tanstack/react-query'
import { ifMissing } from '../../api/errors.ts'
import { listAcknowledgements } from '../../api/message-admin.ts'
import { listEntities, readGroup } from '../../api/people.ts'
import { Failure } from '../../components/failure.tsx'
import { State } from '../../components/state.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Time } from '../../components/time.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { Who } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'

const text = strings.announcements

type Audience = Readonly<Record<string, readonly string[]>> | undefined

/** A person, and when they acknowledged the message; empty if they have not. */
type Reader = { readonly id: string; readonly name: string; readonly time: string }

const columns: readonly Column<Reader>[] = [
  { id: 'name', title: text.person, cell: ({ id, name }) => <Who id={id} name={name} /> },
  {
    id: 'time',
    title: text.acknowledged,
    cell: ({ time }) => (time === '' ? <State kind="waiting">{text.notYet}</State> : <Time at={time} />),
  },
]

/** Who has acknowledged a message, and who has not yet: its audience, else everyone who is known. */
export function Acknowledgements({ id, audience }: { readonly id: string; readonly audience: Audience }) {
  const { can } = useCapabilities(['identity/entity/id'])
  const mayList = can('identity/entity/id', 'list')
  const acknowledged = useQuery({
    queryKey: ['acknowledgements', id],
    queryFn: ({ signal }) => ifMissing(listAcknowledgements({ params: { id } }, { signal }), none),
  })
  const people = useQuery({
    queryKey: ['readers', audience],
    queryFn: ({ signal }) => readersOf(audience, signal),
    enabled: mayList,
  })
  const info = acknowledged.data?.data.key_info ?? {}
  const done = Object.entries(info).map(([key, one]) => ({
    id: key,
    name: one.entity_name,
    time: one.acknowledged_time,
  }))
  const missing = (people.data ?? []).filter(({ id: key }) => info[key] === undefined)
  return (
    <section className="panel" aria-labelledby="acknowledgements">
      <h2 id="acknowledgements">
        {text.acknowledgements(done.length, mayList ? missing.length : undefined)}
      </h2>
      <Failure error={acknowledged.error ?? people.error} />
      <Table
        name="acknowledgements"
        label={text.person}
        columns={columns}
        rows={[...missing, ...done]}
        keyOf={({ id: key }) => key}
      />
    </section>
  )
}

const none = {
  data: {
    keys: [] as string[],
    key_info: {} as Record<string, { acknowledged_time: string; entity_name: string }>,
  },
}

async function readersOf(audience: Audience, signal: AbortSignal): Promise<readonly Reader[]> {
  const { data } = await listEntities({}, { signal })
  const ids = new Set([
    ...(audience?.['entity_ids'] ?? []),
    ...(await membersOf(audience?.['group_ids'] ?? [], signal)),
  ])
  const isAddressed = (id: string) => ids.size === 0 || ids.has(id)
  return data.keys.filter(isAddressed).map((id) => ({ id, name: data.key_info[id]?.name ?? '', time: '' }))
}

/** The entities of groups and of the groups inside them. */
async function membersOf(groups: readonly string[], signal: AbortSignal): Promise<readonly string[]> {
  const seen = new Set<string>()
  const entities: string[] = []
  const waiting = [...groups]
  for (let id = waiting.pop(); id !== undefined; id = waiting.pop()) {
    if (seen.has(id)) continue
    seen.add(id)
    const { data } = await readGroup({ params: { id } }, { signal })
    entities.push(...(data.member_entity_ids ?? []))
    waiting.push(...(data.member_group_ids ?? []))
  }
  return entities
}
