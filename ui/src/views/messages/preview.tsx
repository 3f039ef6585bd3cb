import type { ShownMessage } from '../../api/messages.ts'
import { visible } from '../../components/visible.ts'
import { MessageBody } from '../../messages/message-body.tsx'
import { Banner } from '../../messages/messages.tsx'
import { strings } from '../../strings.ts'
import type { Side } from './pair.ts'

const text = strings.announcements

type Props = { readonly side: Side; readonly message: ShownMessage }

/** The message as readers will see it: the same parts, above a picture of the page around it. */
export const Preview = ({ side, message }: Props) => (
  <section aria-label={text.previewOf(text.shownTo[side])} className="stack">
    <h2>{text.previewOf(text.shownTo[side])}</h2>
    <div className="preview">
      {message.type === 'banner' ? (
        <Banner message={message} onClose={() => {}} />
      ) : (
        <div className={`dialog ${message.severity}`}>
          <h3>{visible(message.title)}</h3>
          <MessageBody message={message} />
          <div className="dialog-actions">
            <span className="button primary">
              {message.mustAcknowledge ? strings.messages.read : strings.messages.confirm}
            </span>
          </div>
        </div>
      )}
      <div className={`page-picture ${side}`} aria-hidden="true">
        <b>{strings.product}</b>
        {side === 'before' && <span>{strings.login.title}</span>}
        <i />
        <i />
        <i />
      </div>
    </div>
  </section>
)
