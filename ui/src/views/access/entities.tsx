import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Failure } from '../../components/failure.tsx'
import { FieldsForm, listOf } from '../../components/fields-form.tsx'
import { Time } from '../../components/time.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { createEntity, deleteEntity, listEntities, readEntity, writeEntity } from './calls.ts'
import { NamedList, namedBy } from './named-list.tsx'

const text = strings.access

export function Entities({ object }: { readonly object: string | undefined }) {
  if (object !== undefined) return <Entity id={object} />
  return (
    <>
      <NamedList
        tab="entities"
        empty={text.noEntities}
        emptyNext={text.noEntitiesNext}
        request={listEntities.request({})}
        load={async (signal) => namedBy((await listEntities({}, { signal })).data)}
      />
      <NewEntity />
    </>
  )
}

function NewEntity() {
  const client = useQueryClient()
  const go = useGo()
  const path = 'identity/entity'
  const { can } = useCapabilities([path])
  if (!can(path, 'update')) return null
  return (
    <FieldsForm
      title={text.newEntity}
      action={text.create}
      fields={[
        { name: 'name', label: text.name, isRequired: true },
        { name: 'policies', label: text.policies, hint: text.policiesHint },
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
  const setDisabled = async (disabled: boolean) => {
    try {
      await writeEntity({ params: { id }, body: { disabled } })
      await client.invalidateQueries({ queryKey: ['entity', id] })
      setFailure(undefined)
    } catch (refusal) {
      setFailure(refusal)
    }
  }
  return (
    <>
      <ViewHeader title={data.name} requests={[readEntity.request({ params: { id } })]}>
        {can(path, 'update') && (
          <Button onPress={() => void setDisabled(!data.disabled)}>
            {data.disabled ? text.enable : text.disable}
          </Button>
        )}
        {can(path, 'delete') && (
          <Confirm
            label={text.delete}
            question={text.deleteEntityQuestion(data.name)}
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
          <dt>{text.state}</dt>
          <dd>{data.disabled ? text.disabled : text.enabled}</dd>
          <dt>{text.policies}</dt>
          <dd>{data.policies.join(', ') || '–'}</dd>
          <dt>{text.aliases}</dt>
          <dd>
            <ul>
              {data.aliases.map((alias) => (
                <li key={alias.id}>
                  {alias.name} <span className="hint mono">{alias.mount_accessor}</span>
                </li>
              ))}
            </ul>
          </dd>
          <dt>{text.tabs.groups}</dt>
          <dd>
            <IdLinks tab="groups" ids={data.group_ids} />
          </dd>
          <dt>{text.created}</dt>
          <dd>
            <Time at={data.creation_time} />
          </dd>
        </dl>
      </section>
    </>
  )
}

type IdLinksProps = { readonly tab: 'entities' | 'groups'; readonly ids: readonly string[] }

export const IdLinks = ({ tab, ids }: IdLinksProps) =>
  ids.length === 0 ? (
    '–'
  ) : (
    <ul>
      {ids.map((id) => (
        <li key={id}>
          <PlaceLink view="access" parts={[tab, id]} className="mono">
            {id}
          </PlaceLink>
        </li>
      ))}
    </ul>
  )
