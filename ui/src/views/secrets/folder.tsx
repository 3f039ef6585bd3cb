import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from '../../components/button.tsx'
import { EmptyState } from '../../components/empty-state.tsx'
import { Failure } from '../../components/failure.tsx'
import { Field } from '../../components/field.tsx'
import { List } from '../../components/list.tsx'
import { ViewHeader } from '../../components/view-header.tsx'
import { useReach } from '../../shell/acl.ts'
import { useCapabilities } from '../../shell/capabilities.ts'
import { mayWrite } from '../../shell/grants.ts'
import { PlaceLink, useGo, useParameter } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { listRequest, namesIn } from './names-in.ts'
import { NewName } from './new-name.tsx'
import { folderOf, type SecretMount, withoutSlash } from './paths.ts'
import { Search } from './search.tsx'
import { Trail } from './trail.tsx'

const text = strings.secrets

type Props = { readonly mount: SecretMount; readonly path: string }

/** The names in a folder. */
export function Folder({ mount, path }: Props) {
  const [filter, setFilter] = useParameter('filter')
  const listed = `${mount.path}${mount.version === 2 ? 'metadata/' : ''}${path}`
  const { can, isKnown } = useCapabilities([listed])
  const mayList = can(listed, 'list')
  const { reaches } = useReach()
  const mayCreate = reaches(`${mount.path}${mount.version === 2 ? 'data/' : ''}${path}`, mayWrite)
  const { data, error } = useQuery({
    queryKey: ['secret-names', mount.path, path],
    queryFn: ({ signal }) => namesIn({ mount, folder: path }, signal),
    enabled: mayList,
  })
  const hasNames = data !== undefined && data.length > 0
  const shown = (data ?? []).filter((name) => name.includes(filter))
  return (
    <div className="view">
      <Trail mount={mount.path} path={path} />
      <ViewHeader
        title={path === '' ? mount.path : path.slice(folderOf(withoutSlash(path)).length)}
        requests={[listRequest({ mount, folder: path })]}
      >
        {mayCreate && (
          <>
            <NewName kind="folder" mount={mount.path} folder={path} />
            <NewName kind="secret" mount={mount.path} folder={path} />
          </>
        )}
      </ViewHeader>
      <Failure error={error} />
      {isKnown && !mayList && (
        <EmptyState title={text.mayNotList}>
          <p>{text.mayNotListNext}</p>
        </EmptyState>
      )}
      {data?.length === 0 && (
        <EmptyState title={text.empty}>
          <p>{path === '' ? text.emptyNext : text.emptyFolderNext}</p>
        </EmptyState>
      )}
      <div className="folder-tools">
        {hasNames && (
          <search>
            <Field label={text.filter} value={filter} onChange={setFilter} />
          </search>
        )}
        <OpenPath mount={mount} folder={path} />
        {hasNames && <Search mount={mount} folder={path} />}
      </div>
      {hasNames && (
        <List name="folder" label={text.names} rows={shown} keyOf={(name) => name}>
          {(name) => (
            <PlaceLink view="secrets" parts={[mount.path, `${path}${name}`]}>
              {name}
            </PlaceLink>
          )}
        </List>
      )}
    </div>
  )
}

/** Opens a secret that no list shows, or one that is about to be written. */
function OpenPath({ mount, folder }: { readonly mount: SecretMount; readonly folder: string }) {
  const go = useGo()
  const [name, setName] = useState('')
  const path = `${folder}${name.trim()}`
  return (
    <form
      className="one-line"
      onSubmit={(event) => {
        event.preventDefault()
        if (name.trim() !== '') go({ view: 'secrets', parts: [mount.path, path] })
      }}
    >
      <Field label={text.openPath} hint={text.openPathHint} value={name} onChange={setName} mono />
      <Button type="submit">{text.open}</Button>
    </form>
  )
}
