import { messagesPath } from '../../api/message-admin.ts'
import { EmptyState } from '../../components/empty-state.tsx'
import { useCapabilities } from '../../shell/capabilities.ts'
import { ViewLoading } from '../../shell/outcomes.tsx'
import { usePlace } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'
import { Calendar } from './calendar.tsx'
import { Details } from './details.tsx'
import { Editor } from './editor.tsx'
import { List } from './list.tsx'
import './messages.css'

/** Announcements: what is scheduled, shown and over, and their editor. */
export function View() {
  const { parts } = usePlace()
  const [id, page] = parts
  const { can, isKnown } = useCapabilities([messagesPath])
  const mayCreate = can(messagesPath, 'create')
  if (id === 'new' && !mayCreate)
    return isKnown ? <EmptyState title={strings.shell.notAllowed} /> : <ViewLoading />
  return (
    <div className="view">
      {id === undefined || id === 'list' ? (
        <List mayCreate={mayCreate} />
      ) : id === 'calendar' ? (
        <Calendar mayCreate={mayCreate} />
      ) : id === 'new' || page === 'edit' ? (
        <Editor key={id} id={id === 'new' ? undefined : id} />
      ) : (
        <Details id={id} />
      )}
    </div>
  )
}
