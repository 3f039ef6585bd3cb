import { useCapabilities } from '../../shell/capabilities.ts'
import { messagesPath } from '../../api/message-admin.ts'
import { usePlace } from '../../shell/use-place.tsx'
import { Details } from './details.tsx'
import { Editor } from './editor.tsx'
import { List } from './list.tsx'
import './messages.css'

/** Announcements: what is scheduled, shown and over, and their editor. */
export function View() {
  const { parts } = usePlace()
  const [id, page] = parts
  const item = `${messagesPath}/${id ?? ''}`
  const { can } = useCapabilities([messagesPath, ...(id === undefined || id === 'new' ? [] : [item])])
  return (
    <div className="view">
      {id === undefined ? (
        <List mayCreate={can(messagesPath, 'create')} />
      ) : id === 'new' || page === 'edit' ? (
        <Editor key={id} id={id === 'new' ? undefined : id} />
      ) : (
        <Details id={id} mayUpdate={can(item, 'update')} mayDelete={can(item, 'delete')} />
      )}
    </div>
  )
}
