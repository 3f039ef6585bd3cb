import { useQuery, useQueryClient } from '@tanstack/react-query'
import { listGroups } from '../../api/people.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useGroupChoices, useGroups, usePeopleChoices, usePolicyChoices } from '../../shell/people.ts'
import { useGo } from '../../shell/use-place.tsx'
import { GroupLinks, People } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { createGroup, deleteGroup, readGroup, writeGroup } from './calls.ts'
import { NamedList } from './named-list.tsx'

const text = strings.access

export const Groups = ({ object }: { readonly object: string | undefined }) =>
  object === undefined ? <GroupList /> : <Group id={object} />

function GroupList() {
  const { groups, error } = useGroups()
  return (
    <>
      <NamedList
        tab="groups"
        empty={text.noGroups}
        emptyNext={text.noGroupsNext}
        request={listGroups.request({})}
        found={groups}
        error={error}
      />
      <NewGroup />
    </>
  )
}

/** The fields of a group that are lists. */
function usePicks() {
  const policies = usePolicyChoices()
  const people = usePeopleChoices()
  const groups = useGroupChoices()
  return (isInternal: boolean, others: readonly string[] = []) => [
    { name: 'policies', label: text.policies, picks: { choices: policies, allowsOther: true } },
    // a provider says who is in an external group
    ...(isInternal
      ? [
          { name: 'member_entity_ids', label: text.memberEntities, picks: { choices: people } },
          {
            name: 'member_group_ids',
            label: text.memberGroups,
            picks: { choices: groups?.filter(({ id }) => !others.includes(id)) },
          },
        ]
      : []),
  ]
}

function NewGroup() {
  const client = useQueryClient()
  const go = useGo()
  const path = 'identity/group'
  const { can } = useCapabilities([path])
  const picks = usePicks()
  if (!can(path, 'update')) return null
  return (
    <FieldsForm
      title={text.newGroup}
      action={text.create}
      fields={[{ name: 'name', label: text.name, isRequired: true }, ...picks(true)]}
      run={async (value) => {
        const answer = await createGroup({
          body: {
            name: value('name'),
            policies: listOf(value('policies')),
            member_entity_ids: listOf(value('member_entity_ids')),
            member_group_ids: listOf(value('member_group_ids')),
          },
        })
        await client.invalidateQueries({ queryKey: ['groups'] })
        if (answer !== undefined) go({ view: 'access', parts: ['groups', answer.data.id] })
      }}
    />
  )
}

function Group({ id }: { readonly id: string }) {
  const client = useQueryClient()
  const go = useGo()
  const path = `identity/group/id/${id}`
  const { can } = useCapabilities([path])
  const picks = usePicks()
  const { data, error } = useQuery({
    queryKey: ['group', id],
    queryFn: async ({ signal }) => (await readGroup({ params: { id } }, { signal })).data,
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const present: Readonly<Record<string, readonly string[] | null>> = {
    policies: data.policies,
    member_entity_ids: data.member_entity_ids,
    member_group_ids: data.member_group_ids,
  }
  const members = (data.member_entity_ids?.length ?? 0) + (data.member_group_ids?.length ?? 0)
  return (
    <>
      <ViewHeader title={data.name} requests={[readGroup.request({ params: { id } })]}>
        {can(path, 'delete') && (
          <Confirm
            label={text.delete}
            question={text.deleteGroupQuestion(data.name)}
            action={text.delete}
            onConfirmed={async () => {
              await deleteGroup({ params: { id } })
              await client.invalidateQueries({ queryKey: ['groups'] })
              go({ view: 'access', parts: ['groups'] })
            }}
          >
            <p>{text.deleteGroupHint(members)}</p>
          </Confirm>
        )}
      </ViewHeader>
      <section className="panel">
        <dl className="facts">
          <dt>{text.id}</dt>
          <dd className="mono">{data.id}</dd>
          <dt>{text.type}</dt>
          <dd>{data.type}</dd>
          <dt>{text.policies}</dt>
          <dd>{(data.policies ?? []).join(', ') || '–'}</dd>
          <dt>{text.memberEntities}</dt>
          <dd>
            <People ids={data.member_entity_ids ?? []} />
          </dd>
          <dt>{text.memberGroups}</dt>
          <dd>
            <GroupLinks ids={data.member_group_ids ?? []} />
          </dd>
          <dt>{text.parentGroups}</dt>
          <dd>
            <GroupLinks ids={data.parent_group_ids ?? []} />
          </dd>
          <dt>{text.created}</dt>
          <dd>
            <Time at={data.creation_time} />
          </dd>
        </dl>
      </section>
      {can(path, 'update') && (
        <FieldsForm
          key={[data.policies, data.member_entity_ids, data.member_group_ids].join(' ')}
          title={text.changeGroup}
          action={text.save}
          fields={picks(data.type === 'internal', [id]).map((field) => ({
            ...field,
            initial: (present[field.name] ?? []).join(),
          }))}
          run={async (value) => {
            const policies = listOf(value('policies'))
            const members = {
              member_entity_ids: listOf(value('member_entity_ids')),
              member_group_ids: listOf(value('member_group_ids')),
            }
            const body = data.type === 'internal' ? { policies, ...members } : { policies }
            await writeGroup({ params: { id }, body })
            for (const key of [['group', id], ['history']]) await client.invalidateQueries({ queryKey: key })
          }}
        />
      )}
      <ObjectHistory path={path} />
    </>
  )
}
