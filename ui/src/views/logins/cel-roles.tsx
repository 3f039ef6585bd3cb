import { useQuery, useQueryClient } from '@tanstack/react-query'
import { keysOf } from '../../api/errors.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Fields } from '../../components/fields.tsx'
import { List } from '../../components/list.tsx'
import { ObjectHistory } from '../../history/object-history.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { PlaceLink, useGo, usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { deleteCelRole, listCelRoles, readCelRole } from './editor/calls.ts'
import { CelEditor } from './editor/cel-editor.tsx'
import { GuardedDelete } from './guarded-delete.tsx'

const text = strings.logins

type Mount = { readonly mount: string }

/** The roles of a mount whose programs decide, or the form of one. */
export function CelRoles({ mount }: Mount) {
  const { parts, search } = usePlace()
  const go = useGo()
  const [, , picked = ''] = parts
  const open = (name: string) => go({ view: 'logins', parts: [mount, 'cel', ...(name === '' ? [] : [name])] })
  if (search['form'] === undefined) return <ListedCelRoles mount={mount} picked={picked} />
  return <CelEditor key={picked} mount={mount} name={picked} onSaved={open} onCancel={() => open(picked)} />
}

function ListedCelRoles({ mount, picked }: Mount & { readonly picked: string }) {
  const path = `auth/${mount}/cel/role/x`
  const { can } = useCapabilities([path])
  const { data, error } = useQuery({
    queryKey: ['cel-roles', mount],
    queryFn: ({ signal }) => keysOf(listCelRoles({ params: { jwt_mount_path: mount } }, { signal })),
  })
  if (error !== null) return <Failure error={error} />
  if (data === undefined) return null
  return (
    <div className={picked === '' ? 'stack' : 'beside'}>
      <div className="stack">
        {can(path, 'update') && (
          <div className="actions">
            <PlaceLink view="logins" parts={[mount, 'cel']} search={{ form: 'new' }} className="button">
              {text.cel.newRole}
            </PlaceLink>
          </div>
        )}
        {data.length === 0 ? (
          <EmptyState title={text.cel.none}>{text.cel.noneNext}</EmptyState>
        ) : (
          <List name="cel-roles" label={text.tabs.cel} rows={data} keyOf={(name) => name}>
            {(name) => (
              <PlaceLink view="logins" parts={[mount, 'cel', name]}>
                {name}
              </PlaceLink>
            )}
          </List>
        )}
      </div>
      {picked !== '' && <CelRole mount={mount} name={picked} key={picked} />}
    </div>
  )
}

function CelRole({ mount, name }: Mount & { readonly name: string }) {
  const client = useQueryClient()
  const go = useGo()
  const path = `auth/${mount}/cel/role/${name}`
  const { can } = useCapabilities([path])
  const params = { jwt_mount_path: mount, name }
  const { data, error } = useQuery({
    queryKey: ['cel-role', mount, name],
    queryFn: ({ signal }) => readCelRole({ params }, { signal }),
  })
  return (
    <section className="panel" aria-label={name}>
      <h2>{name}</h2>
      <div className="actions">
        {can(path, 'update') && (
          <PlaceLink view="logins" parts={[mount, 'cel', name]} search={{ form: 'edit' }} className="button">
            {text.editRole}
          </PlaceLink>
        )}
        {can(path, 'delete') && (
          <GuardedDelete
            question={text.deleteRoleQuestion(name)}
            onConfirmed={async (query) => {
              await deleteCelRole({ params, query })
              for (const queryKey of [
                ['cel-roles', mount],
                ['history', path],
              ])
                await client.invalidateQueries({ queryKey })
              go({ view: 'logins', parts: [mount, 'cel'] })
              await client.resetQueries({ queryKey: ['cel-role', mount, name] })
            }}
          >
            <p>{text.deleteRoleHint}</p>
          </GuardedDelete>
        )}
      </div>
      <Failure error={error} />
      {data !== undefined && <Fields values={data.data} />}
      <ObjectHistory path={path} isGuarded />
    </section>
  )
}
