import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { createGroup, deleteGroup, listGroups, readGroup, writeGroup } from './calls.ts'
import { IdLinks } from './entities.tsx'
import { NamedList, namedBy } from './named-list.tsx'

const text = strings.access

export function Groups({ object }: { readonly object: string | undefined }) {
  if (object !== undefined) return <Group id={object} />
  return (
    <>
      <NamedList
        tab="groups"
        empty={text.noGroups}
        emptyNext={text.noGroupsNext}
        request={listGroups.request({})}
        load={async (signal) => namedBy((await listGroups({}, { signal })).data)}
      />
      <NewGroup />
    </>
  )
}

function NewGroup() {
  const client = useQueryClient()
  const go = useGo()
  const path = 'identity/group'
  const { can } = useCapabilities([path])
  if (!can(path, 'update')) return null
  return (
    <FieldsForm
      title={text.newGroup}
      action={text.create}
      fields={[
        { name: 'name', label: text.name, isRequired: true },
        { name: 'policies', label: text.policies, hint: text.policiesHint },
        { name: 'member_entity_ids', label: text.memberEntities, hint: text.membersHint },
      ]}
      run={async (value) => {
        const answer = await createGroup({
          body: {
            name: value('name'),
            policies: listOf(value('policies')),
            member_entity_ids: listOf(value('member_entity_ids')),
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
  const { data, error } = useQuery({
    queryKey: ['group', id],
    queryFn: async ({ signal }) => (await readGroup({ params: { id } }, { signal })).data,
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
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
            <IdLinks tab="entities" ids={data.member_entity_ids ?? []} />
          </dd>
          <dt>{text.memberGroups}</dt>
          <dd>
            <IdLinks tab="groups" ids={data.member_group_ids ?? []} />
          </dd>
          <dt>{text.parentGroups}</dt>
          <dd>
            <IdLinks tab="groups" ids={data.parent_group_ids ?? []} />
          </dd>
          <dt>{text.created}</dt>
          <dd>
            <Time at={data.creation_time} />
          </dd>
        </dl>
      </section>
      {can(path, 'update') && (
        <FieldsForm
          key={[data.policies, data.member_entity_ids].join(' ')}
          title={text.changeGroup}
          action={text.save}
          fields={[
            {
              name: 'policies',
              label: text.policies,
              hint: text.policiesHint,
              initial: (data.policies ?? []).join(', '),
            },
            // a provider says who is in an external group
            ...(data.type === 'internal'
              ? [
                  {
                    name: 'member_entity_ids',
                    label: text.memberEntities,
                    hint: text.membersHint,
                    initial: (data.member_entity_ids ?? []).join(', '),
                  },
                ]
              : []),
          ]}
          run={async (value) => {
            const policies = listOf(value('policies'))
            const members = listOf(value('member_entity_ids'))
            const body = data.type === 'internal' ? { policies, member_entity_ids: members } : { policies }
            await writeGroup({ params: { id }, body })
            await client.invalidateQueries({ queryKey: ['group', id] })
          }}
        />
      )}
    </>
  )
}
