import { listMessages } from '../../api/message-admin.ts'
import { ViewHeader } from '../../components/view-header.tsx'
import { Choices } from '../../shell/choices.tsx'
import { PlaceLink } from '../../shell/use-place.tsx'
import { strings } from '../../strings.ts'

const text = strings.announcements

type Props = { readonly open: 'list' | 'calendar'; readonly mayCreate: boolean }

/** Title and tabs of the two pages that show all messages. */
export const MessagesHeader = ({ open, mayCreate }: Props) => (
  <>
    <ViewHeader title={strings.views['messages'] ?? ''} requests={[listMessages.request({})]}>
      {mayCreate && (
        <PlaceLink view="messages" parts={['new']} className="button primary">
          {text.create}
        </PlaceLink>
      )}
    </ViewHeader>
    <Choices
      view="messages"
      label={text.pages}
      of="aspects"
      open={open}
      choices={[
        { name: 'list', label: text.listPage, parts: ['list'] },
        { name: 'calendar', label: text.calendar, parts: ['calendar'] },
      ]}
    />
  </>
)
