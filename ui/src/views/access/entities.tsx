import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { listEntities } from '../../api/people.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { State } from '../../components/state.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { visible } from '../../components/visible.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { labelOf, usePeople, usePolicyChoices } from '../../shell/people.ts'
import { useGo } from '../../shell/use-place.tsx'
import { GroupLinks } from '../../shell/who.tsx'
import { strings } from '../../strings.ts'
import { createEntity, deleteEntity, readEntity, writeEntity } from './calls.ts'
import { EntityTokens } from './entity-tokens.tsx'
import { NamedList } from './named-list.tsx'
import { TidyEntities } from './tidy-entities.tsx'

const text = strings.access

export const Entities = ({ object }: { readonly object: string | undefined }) =>
  object === undefined ? <EntityList /> : <Entity id={object} />

function EntityList() {
  const { people, error, isPartial } = usePeople()
  return (
    <>
      <NamedList
        tab="entities"
        empty={text.noEntities}
        emptyNext={text.noEntitiesNext}
        request={listEntities.request({})}
        found={people}
        error={error}
        isPartial={isPartial}
      />
      <NewEntity />
      <TidyEntities />
    </>
  )
}

function NewEntity() {
  const client = useQueryClient()
  const go = useGo()
  const path = 'identity/entity'
  const { can } = useCapabilities([path])
  const policies = usePolicyChoices()
  if (!can(path, 'update')) return null
  return (
    <FieldsForm
      title={text.newEntity}
      action={text.create}
      fields={[
        { name: 'name', label: text.name, isRequired: true },
        { name: 'policies', label: text.policies, picks: { choices: policies, allowsOther: true } },
      ]}
      run={async (value) => {
        const body = { name: value('name'), policies: listOf(value('policies')) }
        const answer = await createEntity({ body })
        await client.invalidateQueries({ queryKey: ['entities'] })
        if (answer !== undefined) go({ view: 'access', parts: ['entities', answer.data.id] })
      }}
    />
  )
}

function Entity({ id }: { readonly id: string }) {
  const client = useQueryClient()
  const go = useGo()
  const path = `identity/entity/id/${id}`
  const { can } = useCapabilities([path])
  const [failure, setFailure] = useState<unknown>()
  const { data, error } = useQuery({
    queryKey: ['entity', id],
    queryFn: async ({ signal }) => (await readEntity({ params: { id } }, { signal })).data,
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  const person = { id, name: data.name, aliases: data.aliases.map(({ name }) => name) }
  const setDisabled = async (disabled: boolean) => {
    try {
      await writeEntity({ params: { id }, body: { disabled } })
      await client.invalidateQueries({ queryKey: ['entity', id] })
      setFailure(undefined)
      announce(strings.saved)
    } catch (refusal) {
      setFailure(refusal)
    }
  }
  return (
    <>
      <ViewHeader title={labelOf(person)} requests={[readEntity.request({ params: { id } })]}>
        {can(path, 'update') && (
          <Button onPress={() => void setDisabled(!data.disabled)}>
            {data.disabled ? text.enable : text.disable}
          </Button>
        )}
        {can(path, 'delete') && (
          <Confirm
            label={text.delete}
            question={text.deleteEntityQuestion(labelOf(person))}
            action={text.delete}
            onConfirmed={async () => {
              await deleteEntity({ params: { id } })
              await client.invalidateQueries({ queryKey: ['entities'] })
              go({ view: 'access', parts: ['entities'] })
            }}
          >
            <p>{text.deleteEntityHint(data.aliases.length)}</p>
          </Confirm>
        )}
      </ViewHeader>
      <Failure error={failure} />
      <section className="panel">
        <dl className="facts">
          <dt>{text.id}</dt>
          <dd className="mono">{data.id}</dd>
          <dt>{text.name}</dt>
          <dd>{visible(data.name)}</dd>
          <dt>{text.state}</dt>
          <dd>
            <State kind={data.disabled ? 'over' : 'good'}>
              {data.disabled ? text.disabled : text.enabled}
            </State>
          </dd>
          <dt>{text.policies}</dt>
          <dd>{data.policies.join(', ') || '–'}</dd>
          <dt>{text.aliases}</dt>
          <dd>
            <ul>
              {data.aliases.map((alias) => (
                <li key={alias.id}>
                  {visible(alias.name)}{' '}
                  <span className="hint mono">{alias.mount_path ?? alias.mount_accessor}</span>
                </li>
              ))}
            </ul>
          </dd>
          <dt>{text.tabs.groups}</dt>
          <dd>
            <GroupLinks ids={data.group_ids} />
          </dd>
          <dt>{text.created}</dt>
          <dd>
            <Time at={data.creation_time} />
          </dd>
        </dl>
      </section>
      <EntityTokens id={id} name={labelOf(person)} />
    </>
  )
}
