import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { dataOrNull } from '../../api/errors.ts'
import { announce } from '../../components/announce.tsx'
import { Button } from '../../components/button.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { Table } from '../../components/table.tsx'
import { useUnsaved } from '../../components/unsaved.ts'
import { useAction } from '../../components/use-action.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { addressOfNamespace, useNamespace } from '../../session/namespace.ts'
import { useReach } from '../../shell/acl.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { mayWrite } from '../../shell/grants.ts'
import { strings } from '../../strings.ts'
import { createNamespace, deleteNamespace, listNamespaces } from './calls.ts'

const text = strings.system
const pollMs = 1000

type Namespace = { readonly name: string; readonly isEnding: boolean }

export function Namespaces() {
  const client = useQueryClient()
  const { reaches } = useReach()
  const { data, error } = useQuery<readonly Namespace[]>({
    queryKey: ['namespaces'],
    queryFn: async ({ signal }): Promise<readonly Namespace[]> => {
      const listed = await dataOrNull(listNamespaces({}, { signal }))
      if (listed === null) return []
      return listed.keys.map((name) => ({ name, isEnding: listed.key_info[name]?.tainted === true }))
    },
    // a deletion goes on in the background
    refetchInterval: ({ state }) => (state.data?.some(({ isEnding }) => isEnding) === true ? pollMs : false),
  })
  const changed = () => client.invalidateQueries({ queryKey: ['namespaces'] })
  const { can } = useCapabilities((data ?? []).map(({ name }) => pathOf(name)))
  return (
    <>
      <ViewHeader title={text.tabs.namespaces} requests={[listNamespaces.request({})]} />
      <Failure error={error} />
      {data?.length === 0 && (
        <EmptyState title={text.noNamespaces}>
          <p>{text.noNamespacesNext}</p>
        </EmptyState>
      )}
      {data !== undefined && data.length > 0 && (
        <Table
          name="namespaces"
          label={text.tabs.namespaces}
          columns={[
            { id: 'name', title: text.path, cell: ({ name }: Namespace) => <NamespaceLink name={name} /> },
            {
              id: 'actions',
              title: text.actions,
              width: '8rem',
              cell: ({ name, isEnding }: Namespace) =>
                isEnding ? (
                  <span role="status">{text.deleting}</span>
                ) : (
                  can(pathOf(name), 'delete') && <Delete name={name} changed={changed} />
                ),
            },
          ]}
          rows={data}
          keyOf={({ name }) => name}
        />
      )}
      {reaches('sys/namespaces/', mayWrite) && <Create changed={changed} />}
    </>
  )
}

/** As policies name it. */
const pathOf = (name: string) => `sys/namespaces/${name.replace(/\/$/, '')}`

function NamespaceLink({ name }: { readonly name: string }) {
  const here = useNamespace()
  const path = `${here === '' ? '' : `${here}/`}${name.replace(/\/$/, '')}`
  return (
    <a href={addressOfNamespace(path)} className="mono">
      {name}
    </a>
  )
}

type ChangeProps = { readonly changed: () => Promise<unknown> }

const Delete = ({ name, changed }: ChangeProps & { readonly name: string }) => (
  <Confirm
    label={text.delete}
    of={name}
    question={text.deleteNamespaceQuestion(name)}
    action={text.delete}
    onConfirmed={async () => {
      await deleteNamespace({ params: { path: name.replace(/\/$/, '') } })
      await changed()
    }}
  >
    <p>{text.deleteNamespaceHint}</p>
  </Confirm>
)

function Create({ changed }: ChangeProps) {
  const [name, setName] = useState('')
  useUnsaved(name)
  const [error, setError] = useState<unknown>()
  const create = useAction(async () => {
    try {
      await createNamespace({ params: { path: name.trim() } })
      setName('')
      announce(strings.done(text.create))
      setError(undefined)
      await changed()
    } catch (refusal) {
      setError(refusal)
    }
  })
  return (
    <section className="panel" aria-labelledby="new-namespace">
      <h2 id="new-namespace">{text.newNamespace}</h2>
      <form className="filters" onSubmit={(event) => void create(event)}>
        <Field label={text.name} isRequired mono value={name} onChange={setName} />
        <div className="actions">
          <Button type="submit">{text.create}</Button>
        </div>
      </form>
      <Failure error={error} />
    </section>
  )
}
