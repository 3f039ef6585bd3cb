import { messagesPath } from '../../api/message-admin.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { Details } from './details.tsx'
import { Editor } from './editor.tsx'
import { List } from './list.tsx'
import './messages.css'

/** Announcements: what is scheduled, shown and over, and their editor. */
export function View() {
  const { parts } = usePlace()
  const [id, page] = parts
  const item = `${messagesPath}/${id ?? ''}`
  const { can, isKnown } = useCapabilities([
    messagesPath,
    ...(id === undefined || id === 'new' ? [] : [item]),
  ])
  const isEditor = id === 'new' || page === 'edit'
  const mayEdit = id === 'new' ? can(messagesPath, 'create') : can(item, 'update')
  if (isEditor && !mayEdit) return isKnown ? <EmptyState title={strings.shell.notAllowed} /> : <ViewLoading />
  return (
    <div className="view">
      {id === undefined ? (
        <List mayCreate={can(messagesPath, 'create')} />
      ) : isEditor ? (
        <Editor key={id} id={id === 'new' ? undefined : id} />
      ) : (
        <Details id={id} mayUpdate={can(item, 'update')} mayDelete={can(item, 'delete')} />
      )}
    </div>
  )
}
